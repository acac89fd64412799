"""A mask function is read as exactly the pairs that it says, or not at all."""

import operator
from functools import reduce

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import masking_utils as theirs

from attncost import Causal, Full, Window
from attncost.integrations.hf.rules import read

BATCH, HEADS, N = 2, 3, 12
POSITIONS = torch.tensor([[*range(5), *range(7)], [*range(8), *range(3), 0]])
DOCUMENTS = theirs.find_packed_sequence_indices(POSITIONS)
assert DOCUMENTS is not None
WHOLE = torch.arange(N).repeat(BATCH, 1)
BLOCKS = torch.tensor([[-1, -1, 0, 0, -1, 1, 1, 1, -1, -1, -1, 2], [0] * 6 + [-1] * 6])
PADDING = torch.arange(N) >= torch.tensor([[3], [0]])


def dense(function, first=0):
    """Evaluate a function for every pair, without vmap, as transformers does."""
    token = torch.arange(N) + first
    truth = function(
        torch.arange(BATCH)[:, None, None, None],
        torch.arange(HEADS)[None, :, None, None],
        token[:, None],
        token,
    )
    return torch.as_tensor(truth).expand(BATCH, HEADS, N, N)


def dense_rule(rule, first=0):
    token = torch.arange(N) + first
    reads = rule.pattern.allowed(token[:, None], token).expand(BATCH, HEADS, N, N)
    if rule.documents is None:
        return reads
    same = rule.documents[:, :, None] == rule.documents[:, None]
    return reads & same[:, None]


def packed(function, positions=POSITIONS, documents=DOCUMENTS):
    return theirs.and_masks(
        theirs.remap_positions_for_packed_sequence(function, positions),
        theirs.packed_sequence_mask_function(documents),
    )


def shifted(function, query, key):
    return theirs.add_offsets_to_mask_function(function, query, key)


causal, bidirectional = theirs.causal_mask_function, theirs.bidirectional_mask_function
sliding = theirs.sliding_window_causal_mask_function
around = theirs.sliding_window_bidirectional_mask_function

READ = {
    "causal": (causal, Causal()),
    "bidirectional": (bidirectional, Full()),
    "sliding": (sliding(4), Window(4)),
    "sliding to itself": (sliding(1), Window(1)),
    "around": (around(3), Window(7, ahead=3)),
    "around, by vmap": (theirs.and_masks(around(3), bidirectional), Window(7, ahead=3)),
    "causal and sliding": (theirs.and_masks(causal, sliding(6), sliding(3)), Window(3)),
    "around and causal": (theirs.and_masks(around(3), causal), Window(4)),
    "shifted alike": (shifted(sliding(4), 5, 5), Window(4)),
    "shifted apart": (shifted(sliding(4), 5, 3), Window(4, ahead=2)),
    "packed": (packed(causal), Causal()),
    "packed and sliding": (packed(sliding(4)), Window(4)),
    "packed without order": (theirs.packed_sequence_mask_function(DOCUMENTS), Full()),
    "packed and bidirectional": (
        theirs.and_masks(bidirectional, theirs.packed_sequence_mask_function(BLOCKS)),
        Full(),
    ),
    "one document": (packed(causal, WHOLE, torch.zeros_like(WHOLE)), Causal()),
    "started later": (packed(sliding(4), POSITIONS + 2), Window(4)),
}


@pytest.mark.parametrize("first", [0, 6])
@pytest.mark.parametrize("name", READ)
def test_limits_and_documents_are_read(name, first):
    function, pattern = READ[name]
    rule = read(function)
    assert rule.pattern == pattern
    if not (first and rule.documents is not None):  # those tables are of the first tokens alone
        assert torch.equal(dense_rule(rule, first), dense(function, first))


def looking_up(table):
    return lambda b, h, q, k: table[b, q] <= table[b, k]


# Each of these allows other pairs than a hasty reader would think.
UNREAD = {
    "chunked": theirs.chunked_causal_mask_function(4, torch.tensor([3, 0])),
    "blockwise": theirs.or_masks(causal, theirs.blockwise_overlay(BLOCKS)),
    "blockwise alone": theirs.blockwise_overlay(BLOCKS),
    "within blocks": theirs.and_masks(causal, theirs.blockwise_overlay(BLOCKS)),
    "padding": theirs.and_masks(causal, theirs.padding_mask_function(PADDING)),
    "padding alone": theirs.padding_mask_function(PADDING),
    "prefix": theirs.or_masks(causal, lambda b, h, q, k: k < 3),
    "first keys": lambda b, h, q, k: k < 3,
    "late queries": lambda b, h, q, k: q >= 5,
    "causal for late queries": lambda b, h, q, k: (q >= 5) & (k <= q),
    "index from below": lambda b, h, q, k: (q - 5 >= 0) & (k <= q),
    "one side of a distance": lambda b, h, q, k: q - k <= 3,
    "other side of a distance": lambda b, h, q, k: k - q <= 3,
    "one distance": lambda b, h, q, k: q - k == 2,
    "all but one distance": lambda b, h, q, k: (q - k != 2) & (k <= q),
    "itself": lambda b, h, q, k: q == k,
    "all but itself": lambda b, h, q, k: (q != k) & (k <= q),
    "all but one query": lambda b, h, q, k: (k <= q) & (q != 3),
    "before itself": lambda b, h, q, k: k < q,
    "some ahead": lambda b, h, q, k: k <= q + 3,
    "two behind": lambda b, h, q, k: (k <= q - 2) & (k > q - 6),
    "not causal": lambda b, h, q, k: ~(k <= q),
    "causal or near": lambda b, h, q, k: (k <= q) | (abs(q - k) <= 2),
    "xor": lambda b, h, q, k: (k <= q) ^ (q - k == 2),
    "both or neither": lambda b, h, q, k: (k <= q) == (k > q - 3),
    "one or other": lambda b, h, q, k: (k <= q) != (k > q - 3),
    "where": lambda b, h, q, k: torch.where(q == 3, k <= q, k >= q),
    "logical": lambda b, h, q, k: torch.logical_and(k <= q, k < 4),
    "product": lambda b, h, q, k: (k <= q) * (k >= 2),
    "every other": lambda b, h, q, k: (q - k) % 2 == 0,
    "stretched": lambda b, h, q, k: 2 * k <= q,
    "one head": lambda b, h, q, k: (h == 1) & (k <= q),
    "heads look differently far": lambda b, h, q, k: (k <= q) & (q - k <= h),
    "one sequence": lambda b, h, q, k: (b == 1) & (k <= q),
    "sequence as key": lambda b, h, q, k: (k <= q) & (b <= k),
    "a query alone": lambda b, h, q, k: (q <= q) & (k <= q),
    "always": lambda b, h, q, k: True,
    "never": lambda b, h, q, k: False,
    "a tensor": lambda b, h, q, k: torch.ones((), dtype=torch.bool),
    "a tensor and more": lambda b, h, q, k: WHOLE.bool()[0, :1] & (k <= q),
    "compared with a tensor": lambda b, h, q, k: (k <= q) & (q >= torch.tensor(4)),
    "positions without documents": looking_up(POSITIONS),
    "any table": looking_up(BLOCKS),
    "two document tables": theirs.and_masks(
        theirs.packed_sequence_mask_function(DOCUMENTS),
        theirs.packed_sequence_mask_function(BLOCKS),
    ),
    "two position tables": theirs.and_masks(
        packed(causal), looking_up(WHOLE.flip(1)), looking_up(POSITIONS)
    ),
    "positions of other documents": packed(causal, POSITIONS, BLOCKS.clamp(min=0)),
    "positions that run backwards": packed(causal, WHOLE.flip(1), torch.zeros_like(WHOLE)),
    "positions that stand still": packed(sliding(3), WHOLE // 2, torch.zeros_like(WHOLE)),
    "documents in pieces": packed(causal, WHOLE % 4, WHOLE // 4 % 2),
    "documents by truth": theirs.packed_sequence_mask_function(PADDING),
    "documents by fractions": theirs.packed_sequence_mask_function(WHOLE / 3),
    "position beside index": lambda b, h, q, k: (POSITIONS[b, q] <= k) & (k <= q),
    "one table against another": lambda b, h, q, k: DOCUMENTS[b, q] == BLOCKS[b, k],
    "table of heads": lambda b, h, q, k: (DOCUMENTS[b, h] == DOCUMENTS[b, k]) & (k <= q),
    "table of the next": lambda b, h, q, k: DOCUMENTS[b, (q + 1) % N] == DOCUMENTS[b, k],
    "table of one sequence": lambda b, h, q, k: DOCUMENTS[0, q] == DOCUMENTS[0, k],
    "table with one axis": lambda b, h, q, k: DOCUMENTS[0][q] == DOCUMENTS[0][k],
    "table the other way": lambda b, h, q, k: DOCUMENTS.mT[q, b] == DOCUMENTS.mT[k, b],
    "table with three axes": lambda b, h, q, k: (
        DOCUMENTS[..., None][b, q, 0] == DOCUMENTS[..., None][b, k, 0]
    ),
    "numbers not below 0": lambda b, h, q, k: (BLOCKS[b, q] == BLOCKS[b, k]) & (BLOCKS[b, q] >= 0),
    "documents apart": lambda b, h, q, k: (DOCUMENTS[b, q] != DOCUMENTS[b, k]) & (k <= q),
    "neighbouring documents": lambda b, h, q, k: DOCUMENTS[b, q] == DOCUMENTS[b, k] + 1,
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_more_than_limits_is_not_read(name):
    dense(UNREAD[name])  # a function that transformers would take
    assert read(UNREAD[name]) is None


def refuses(b, h, q, k):
    assert q.ndim
    return k <= q


# Tensors refuse these as well, or would under vmap: nothing may be guessed from them.
BRANCHING = {
    "equal": lambda b, h, q, k: k <= q if q == 3 else k >= q,
    "different": lambda b, h, q, k: k <= q if q != 3 else k >= q,
    "index": lambda b, h, q, k: k <= q if q else k >= q,
    "condition": lambda b, h, q, k: k >= q if k <= q else k <= q,
    "negation": lambda b, h, q, k: not k <= q,
    "chain": lambda b, h, q, k: q - 3 < k <= q,
    "either": lambda b, h, q, k: k <= q or k >= q,
    "in": lambda b, h, q, k: k <= q if q in (0, 3) else k >= q,
    "distance": lambda b, h, q, k: k <= q if abs(q - k) == 2 else k >= q,
    "table in lists": lambda b, h, q, k: POSITIONS.tolist()[b][q] <= k,
    "table of numpy": lambda b, h, q, k: POSITIONS.numpy()[b, q] == POSITIONS.numpy()[b, k],
    "refuses": refuses,
}


@pytest.mark.parametrize("name", BRANCHING)
def test_what_branches_on_an_index_is_not_read(name):
    assert read(BRANCHING[name]) is None


LIMITS = st.integers(-3, 8)
CONDITIONS = st.one_of(
    st.tuples(
        st.sampled_from(["q", "k", "q in document", "k in document", "head", "sequence"]),
        st.sampled_from([operator.le, operator.lt, operator.ge, operator.gt, operator.eq]),
        st.sampled_from(["q", "k", "q in document", "k in document", "document of k", "4", "0"]),
        LIMITS,
    ),
    st.tuples(st.sampled_from(["near", "apart", "same document", "always"]), LIMITS),
)


def condition(made, b, h, q, k):
    """Return what a drawn condition says of a pair."""
    if len(made) == 2:
        kind, limit = made
        return {
            "near": lambda: abs(q - k) <= limit,
            "apart": lambda: q - k <= limit,
            "same document": lambda: DOCUMENTS[b, q] == DOCUMENTS[b, k],
            "always": lambda: q.new_ones((), dtype=torch.bool),
        }[kind]()
    left, relation, right, shift = made
    meant = {
        "q": lambda: q,
        "k": lambda: k,
        "q in document": lambda: POSITIONS[b, q],
        "k in document": lambda: POSITIONS[b, k],
        "document of k": lambda: DOCUMENTS[b, k],
        "head": lambda: h,
        "sequence": lambda: b,
        "4": lambda: 4,
        "0": lambda: 0,
    }
    return relation(meant[left](), meant[right]() + shift)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.lists(CONDITIONS, min_size=1, max_size=3))
def test_what_is_read_is_what_the_function_says(conditions):
    def function(b, h, q, k):
        return reduce(operator.and_, (condition(made, b, h, q, k) for made in conditions))

    rule = read(function)
    if rule is not None:
        assert torch.equal(dense_rule(rule), dense(function))
