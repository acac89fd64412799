"""What a model tells its attention is honoured by the definition, or refused in words."""

import pytest
import torch
from tests.oracle import definition, random_qkv
from torch import nn

from attncost import Causal, Fixed, Full, UnsupportedOption, Window, attention
from attncost.integrations.hf.attend import attend
from attncost.integrations.hf.reads import Reads

B, H, N, M = 2, 4, 6, 9
FULL = Full()
LOWEST = torch.finfo(torch.float64).min


@pytest.fixture
def qkv(generator):
    return [x.detach() for x in random_qkv(generator, N, M, heads=(H, 2))]


def layer(**told):
    made = nn.Module()
    for name, value in told.items():
        setattr(made, name, value)
    return made


def computed(qkv, mask, *, usual=FULL, module=None, **asked):
    causal = layer(is_causal=True)
    out, weights = attend(module or causal, *qkv, mask, usual=usual, **asked)
    assert weights is None
    return out.transpose(1, 2)


def assert_defined(found, qkv, mask, scale=None, **wishes):
    torch.testing.assert_close(found, definition(*qkv, mask, scale, **wishes)[0])


def random_mask(generator, *shape):
    return torch.rand(shape, generator=generator) > 1 / 3


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
def test_a_mask_of_padding_hides_keys(qkv, causal, kind, generator):
    key_mask = random_mask(generator, B, M)
    found = computed(qkv, key_mask.to(kind), is_causal=causal, scaling=0.3)
    rule = Causal() if causal else Full()
    assert_defined(found, qkv, rule.mask(N, M), 0.3, key_mask=key_mask)


@pytest.mark.parametrize("shape", [(B, 1, N, M), (B, H, N, M), (1, 1, N, M), (1, H, N, M)], ids=str)
@pytest.mark.parametrize("usual", [Full(), Window(3)], ids=str)
def test_a_complete_mask_is_the_whole_rule(qkv, shape, usual, generator):
    mask = random_mask(generator, *shape)
    # Neither is_causal nor a window is asked beside it, as in the model's own attention.
    found = computed(qkv, mask, usual=usual, sliding_window=2)
    assert_defined(found, qkv, mask & usual.mask(N, M))


@pytest.mark.parametrize("lowest", ["finfo", "infinity"])
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_a_mask_to_be_added_hides_where_it_is_as_low_as_numbers_go(qkv, lowest, kind, generator):
    read = random_mask(generator, B, 1, N, M)
    read[0, 0, 2] = False
    bias = torch.randn(B, 1, N, M, generator=generator).to(kind)
    low = torch.finfo(kind).min if lowest == "finfo" else -torch.inf
    found = computed(qkv, bias.masked_fill(~read, low))
    assert_defined(found, qkv, read, bias=bias.double())
    assert not found[0, :, 2].any()


def test_low_numbers_above_the_lowest_are_numbers(qkv, generator):
    """Whoever writes -1e4 in place of the lowest hides a key only from rows that read others."""
    bias = torch.zeros(B, 1, N, M, dtype=torch.float64).masked_fill(
        random_mask(generator, B, 1, N, M), -1e4
    )
    bias[0, 0, 2] = -300.0
    assert_defined(computed(qkv, bias), qkv, Full().mask(N, M), bias=bias)


def test_a_mask_to_be_added_has_gradients(qkv):
    mask = torch.zeros(B, H, N, M, dtype=torch.float64, requires_grad=True)
    computed(qkv, mask).square().sum().backward()
    expected = torch.zeros_like(mask, requires_grad=True)
    definition(*qkv, torch.ones(N, M, dtype=torch.bool), bias=expected)[0].square().sum().backward()
    torch.testing.assert_close(mask.grad, expected.grad)


@pytest.mark.parametrize(
    ("told", "asked", "rule"),
    [
        ({"is_causal": True}, {}, Causal()),
        ({"is_causal": False}, {}, Full()),
        ({"is_causal": False}, {"is_causal": True}, Causal()),
        ({"is_causal": True}, {"is_causal": False}, Full()),
        ({}, {"is_causal": True}, Causal()),
        ({"is_causal": True}, {"sliding_window": 3}, Window(3)),
        ({"is_causal": True}, {"sliding_window": None}, Causal()),
        ({"is_causal": False}, {"sliding_window": 3}, Window(5, ahead=2)),
        ({"is_causal": False}, {"sliding_window": 1}, Window(1)),
    ],
    ids=str,
)
def test_without_a_mask_the_module_and_its_arguments_say_the_rule(qkv, told, asked, rule):
    found = computed(qkv, None, module=layer(**told), **asked)
    assert_defined(found, qkv, rule.mask(N, M))


def test_nothing_is_assumed_of_a_module_that_does_not_say(qkv):
    with pytest.raises(UnsupportedOption, match="Module does not say whether it is causal"):
        computed(qkv, None, module=layer(scale=1))


def test_one_query_reads_all_older_keys(qkv):
    one = [qkv[0][:, :, -1:], *qkv[1:]]
    assert_defined(computed(one, None), one, Full().mask(1, M))


@pytest.mark.parametrize(
    ("rule", "window", "agree"),
    [
        (Window(4), 4, True),
        (Window(3), 4, True),
        (Window(7, ahead=3), 4, True),
        (Window(5), 4, False),
        (Window(9, ahead=4), 4, True),  # a model that reads both ways may not count the token
        (Window(11, ahead=5), 4, False),
        (Causal(), 4, False),
        (Full(), 4, False),
    ],
    ids=str,
)
def test_a_window_that_the_mask_lacks_is_refused(qkv, rule, window, agree):
    reads = Reads((B, N, M), rule, first=(M - N, 0))
    if agree:
        assert_defined(computed(qkv, reads, sliding_window=window), qkv, rule.mask(N, M))
    else:
        with pytest.raises(UnsupportedOption, match=r"wants a sliding window of 4, .* is wrong"):
            computed(qkv, reads, sliding_window=window)


def test_a_mask_for_another_call_is_refused(qkv):
    hidden = torch.ones(3, M, dtype=torch.bool)
    for reads in (
        Reads((B, N, N), Full()),
        Reads((B, M, M), Full()),
        Reads((3, N, M), Full(), key_mask=hidden),
    ):
        with pytest.raises(UnsupportedOption, match="attends 2 x 6 x 9"):
            computed(qkv, reads)
    reads = Reads((1, N, M), Full(), key_mask=hidden[:1], first=(M - N, 0))
    assert_defined(computed(qkv, reads), qkv, Full().mask(N, M))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(B, N, M, dtype=torch.bool), r"2 or 4 axes, got shape \(2, 6, 9\)"),
        (torch.ones(M, dtype=torch.bool), r"got shape \(9,\)"),
        ("causal", "got str"),
        (torch.ones(B, 1, N, M, dtype=torch.int64), "boolean or floating-point, got torch.int64"),
        (torch.ones(B, N, dtype=torch.bool), r"\(batch, keys\) = \(2, 9\), got \(2, 6\)"),
    ],
    ids=["3 axes", "1 axis", "word", "whole numbers", "queries"],
)
def test_a_mask_in_another_form_is_refused(qkv, mask, message):
    with pytest.raises(UnsupportedOption, match=message):
        computed(qkv, mask)


def test_what_is_not_known_is_refused_by_name(qkv):
    with pytest.raises(UnsupportedOption, match="asks its attention for alibi, head_mask, which"):
        computed(qkv, None, head_mask=torch.ones(H), alibi=torch.ones(H), softcap=None)
    with pytest.raises(UnsupportedOption, match="for sinks, which"):
        computed(qkv, None, s_aux=torch.ones(H), sinks=torch.zeros(H))


def test_what_says_nothing_about_attention_is_of_no_matter(qkv):
    found = computed(qkv, None, use_cache=True, cache_position=torch.arange(N), head_mask=None)
    assert_defined(found, qkv, Causal().mask(N, M))


@pytest.mark.parametrize("sink", ["s_aux", "sinks"])
def test_caps_sinks_and_biases_are_honoured(qkv, sink, generator):
    bias = torch.randn(1, H, N, M + 3, dtype=torch.float64, generator=generator)
    sinks = torch.randn(H, dtype=torch.float64, generator=generator)
    reads = Reads((B, N, M), Causal(), first=(M - N, 0))
    asked = {"softcap": 0.7, sink: sinks, "position_bias": bias, "scaling": 0.5}
    wishes = {"softcap": 0.7, "sink": sinks, "bias": bias[..., :M]}
    for usual in (Full(), Window(3)):
        found = computed(qkv, reads, usual=usual, **asked)
        assert_defined(found, qkv, (Causal() & usual).mask(N, M), 0.5, **wishes)
    mask = random_mask(generator, B, 1, N, M)
    found = computed(qkv, mask, **asked)
    assert_defined(found, qkv, mask, 0.5, **wishes)
    found = computed(qkv, torch.where(mask, bias[..., :M], LOWEST), **asked)
    assert_defined(found, qkv, mask, 0.5, **wishes | {"bias": 2 * bias[..., :M]})


def test_dropout_is_that_of_attention(qkv):
    torch.manual_seed(3)
    found = computed(qkv, None, dropout=0.5)
    torch.manual_seed(3)
    assert torch.equal(found, attention(*qkv, Causal(), dropout_p=0.5))
    assert not torch.allclose(found, computed(qkv, None))


ENDS = torch.tensor([0, 2, 2, 5, 9], dtype=torch.int32)
SEGMENTS = torch.tensor([[0, 0, 1, 1, 1, 2, 2, 2, 2]])


@pytest.mark.parametrize("rule", [Full(), Causal()], ids=str)
def test_documents_that_end_somewhere_never_meet(rule, generator):
    qkv = [x.detach() for x in random_qkv(generator, M, M, batch=1)]
    packed = {"cu_seq_lens_q": ENDS, "cu_seq_lens_k": ENDS.clone(), "max_length_q": 4}
    found = computed(qkv, Reads((1, M, M), rule), **packed)
    assert_defined(found, qkv, rule.mask(M, M), segments=SEGMENTS)
    halves = torch.arange(M)[None] // 4
    found = computed(qkv, Reads((1, M, M), rule, segments=halves), **packed)
    assert_defined(found, qkv, rule.mask(M, M), segments=SEGMENTS + 10 * halves)
    blocks = computed(qkv, Reads((1, M, M), rule), usual=Fixed(2, summary=1), **packed)
    for document in (slice(0, 2), slice(2, 5), slice(5, 9)):
        one = [x[:, :, document] for x in qkv]
        n = one[0].shape[2]
        mask = (Fixed(2, summary=1) & rule).mask(n, n)
        assert_defined(blocks[:, :, document], one, mask)


def test_a_document_in_pieces_has_no_first_token(generator):
    qkv = [x.detach() for x in random_qkv(generator, M, M)]
    pieces = Reads((B, M, M), Causal(), segments=(torch.arange(M) // 3 % 2).expand(B, M))
    found = computed(qkv, pieces, usual=Window(5))
    assert_defined(found, qkv, Window(5).mask(M, M), segments=pieces.segments)
    with pytest.raises(UnsupportedOption, match="first token of a text, but segment 0 of sequence"):
        computed(qkv, pieces, usual=Fixed(2, summary=1))


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ([0, 5], "count up from 0 to the 9 tokens"),
        ([0, 5, 12], "count up from 0 to the 9 tokens"),
        ([2, 5, 9], "count up from 0 to the 9 tokens"),
        ([0, 7, 5, 9], "count up from 0 to the 9 tokens"),
        ([9], "count up from 0 to the 9 tokens"),
    ],
    ids=str,
)
def test_ends_that_do_not_cover_the_tokens_are_refused(ends, message, generator):
    qkv = random_qkv(generator, M, M, batch=1)
    ends = torch.tensor(ends)
    with pytest.raises(UnsupportedOption, match=message):
        computed(qkv, None, cu_seq_lens_q=ends, cu_seq_lens_k=ends)


def test_ends_that_do_not_fit_the_call_are_refused(qkv, generator):
    with pytest.raises(UnsupportedOption, match="got 2 sequences of 6 queries and 9 keys"):
        computed(qkv, None, cu_seq_lens_q=ENDS, cu_seq_lens_k=ENDS)
    one = random_qkv(generator, M, M, batch=1)
    other = torch.tensor([0, 4, 9])
    for asked in ({"cu_seq_lens_q": ENDS}, {"cu_seq_lens_k": ENDS}):
        with pytest.raises(UnsupportedOption, match="give both"):
            computed(one, None, **asked)
    for keys in (other, torch.tensor([0, 2, 2, 4, 9])):
        with pytest.raises(UnsupportedOption, match="packs queries and keys differently"):
            computed(one, None, cu_seq_lens_q=ENDS, cu_seq_lens_k=keys)


def test_positions_that_begin_anew_are_refused_unless_a_mask_says_so(generator):
    qkv = [x.detach() for x in random_qkv(generator, M, M)]
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3]])
    for reads in (None, Reads((B, M, M), Causal()), torch.ones(B, M, dtype=torch.bool)):
        with pytest.raises(UnsupportedOption, match="begin anew at token 5"):
            computed(qkv, reads, position_ids=positions)
    segments = (positions.diff(dim=1, prepend=positions[:, :1]) < 0).cumsum(1).expand(B, M)
    found = computed(qkv, Reads((B, M, M), Causal(), segments=segments), position_ids=positions)
    assert_defined(found, qkv, Causal().mask(M, M), segments=segments)
    mask = random_mask(generator, B, 1, M, M)
    assert_defined(computed(qkv, mask, position_ids=positions), qkv, mask)


def test_positions_of_padding_are_of_no_matter(generator):
    qkv = [x.detach() for x in random_qkv(generator, M, M)]
    key_mask = torch.arange(M) >= torch.tensor([[4], [0]])
    positions = (key_mask.cumsum(1) - 1).masked_fill(~key_mask, 1)
    found = computed(qkv, Reads((B, M, M), Causal(), key_mask=key_mask), position_ids=positions)
    assert_defined(found, qkv, Causal().mask(M, M), key_mask=key_mask)


def test_positions_with_other_axes_are_no_documents(qkv):
    for positions in (torch.zeros(3, B, N), torch.zeros(B, 1), torch.zeros(B, N - 1)):
        found = computed(qkv, None, position_ids=positions.long())
        assert_defined(found, qkv, Causal().mask(N, M))
