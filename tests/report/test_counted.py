from dataclasses import replace

import pytest

from attncost.core.cost import Cost
from attncost.cost.counting.counted import AttentionRow, Counted, Row, Unpriced
from attncost.cost.difference import owned
from attncost.report.conventions import utilised
from attncost.report.counted import count_document
from attncost.report.folded import folded
from attncost.report.plain import plain
from attncost.report.subject import Subject
from attncost.report.text import text


def row(module, flops, *, step="weights", phase="forward"):
    new = flops * (phase != "recomputation")
    cost = Cost(useful=new, executed=2 * flops, dense=2 * new, elementwise=3, bytes=5)
    return Row(module=module, phase=phase, step=step, operation="mm", calls=1, cost=cost)


def subject(*rows, unpriced=(), unknown=None):
    shape = (1, 1, 1, 2, 2, 3, 3)
    attention = AttentionRow(
        module="a",
        function="f",
        shape=shape,
        useful=3,
        executed=4,
        dense=4,
        calls=1,
        unknown=unknown,
    )
    names = [name for one in rows for name in ("", *parents(one.module))]
    counted = Counted(
        name="Model",
        rows=rows,
        attention=(attention,),
        unpriced=unpriced,
        modules=dict.fromkeys(names, "Module"),
        parameters=7,
    )
    return Subject(
        name="mine",
        counted=counted,
        owned=owned(counted, {}),
        length=2,
        batch=1,
        training=False,
        command="attncost count mine",
    )


def parents(name):
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def test_bounds_are_said_with_their_reasons():
    missing = Unpriced(module="a", operation="my::op", shapes=((2, 3),), calls=4)
    found = count_document(subject(row("a", 100), unpriced=(missing,), unknown="it is hidden"))
    words = " ".join(text(found).split())
    assert (
        "100 FLOPs useful (less what masks hide, plus what has no price), at least 200 FLOPs dense"
        in words
    )
    assert "at most, because it is hidden" in words
    assert "exact counts," not in words
    assert "my::op a 4 (2, 3)" in words
    most = text(count_document(subject(row("a", 100), unknown="it is hidden")))
    assert "at most 100 FLOPs useful, 200 FLOPs dense" in most
    assert "exact counts," not in most
    least = text(count_document(subject(row("a", 100), unpriced=(missing,))))
    assert "at least 100 FLOPs useful, at least 200 FLOPs dense" in least
    assert "at least 3 elementwise operations, at least 5 B moved" in least
    assert "exact counts," not in least
    exact = text(count_document(subject(row("a", 100))))
    assert "at least" not in exact
    assert "at most" not in exact
    assert "exact counts," in exact


def test_reasons_are_joined_into_one_sentence():
    one = subject(row("a", 100), unknown="it is hidden.")
    both = replace(one, counted=replace(one.counted, unknown=("it is random.",)))
    words = " ".join(text(count_document(both)).split())
    assert "at most, because it is hidden; it is random By step" in words


@pytest.mark.parametrize(
    ("unpriced", "unknown", "exact", "dense"),
    [
        (False, None, "MFU 10.0 % exact, ", " 20.0 % dense"),
        (True, None, "MFU at least 10.0 % exact, ", "at least 20.0 % dense"),
        (False, "hidden", "MFU at most 10.0 % exact, ", " 20.0 % dense"),
        (
            True,
            "hidden",
            "MFU 10.0 % exact (less what masks hide, plus what has no price), ",
            "at least 20.0 % dense",
        ),
    ],
)
def test_a_utilisation_is_bounded_as_the_count_is(unpriced, unknown, exact, dense):
    missing = (Unpriced(module="a", operation="my::op", shapes=(), calls=1),) * unpriced
    one = subject(row("a", 100), unpriced=missing, unknown=unknown)
    # Two tokens take a second, and so do 1,000 FLOPs.
    found = count_document(one, utilisation=utilised(one, tokens_per_second=2, peak=1000))
    said = found.findings[0].text
    assert said.startswith(exact)
    assert f"{dense}: 2 tokens/s forward, peak 1.00 kFLOP/s" in said


def test_a_claim_that_no_convention_yields_is_put_beside_the_nearest_two():
    one = subject(row("a", 100))
    used = utilised(one, tokens_per_second=2, peak=1000, devices=2, claim="6.00%")
    found = count_document(one, utilisation=used).findings
    assert found[0].text.endswith(": 2 tokens/s forward, 2 devices, peak 1.00 kFLOP/s each")
    # The core is no part of it: half is dense, 200 of 2,000, and macs half of that.
    assert found[1].text == (
        "no convention yields the claimed 6.00%; the nearest are exact, macs (5.00 %) and "
        "half, dense (10.00 %)"
    )


@pytest.mark.parametrize(
    ("steps", "whose", "title"),
    [
        (("attention",), "50.0 % of the useful FLOPs are attention's", "attention"),
        (
            ("activations",),
            "50.0 % of the useful FLOPs are those of products of two activations",
            "products of two activations",
        ),
        (
            ("attention", "activations"),
            "66.7 % of the useful FLOPs are those of attention and other products of two "
            "activations",
            "attention and other products of two activations",
        ),
        ((), "none of the useful FLOPs are attention's", "attention"),
    ],
)
def test_products_by_hand_are_not_called_attention(steps, whose, title):
    rows = (row(f"b.{step}", 10, step=step) for step in steps)
    found = count_document(subject(row("a", 10), *rows))
    words = " ".join(text(found).split())
    assert whose in words
    assert plain(found)["tables"][1]["columns"][-1]["title"] == title
    assert all(len(line) <= 80 for line in text(found).splitlines())


def test_what_is_executed_is_explained_where_it_is_more_than_useful():
    rows = (row("a", 10), row("a", 10, phase="recomputation"))
    words = " ".join(text(count_document(subject(*rows))).split())
    assert (
        "Executed: what f multiplies by PyTorch's own counting, all pairs; kernels that skip "
        "masked tiles do less; with what is computed again for the backward pass."
    ) in words


def test_a_model_that_is_not_understood_says_what_is_not_known():
    words = " ".join(text(count_document(subject(row("a", 10)))).split())
    assert "7 parameters; KV bytes: not known for this architecture" in words
    assert "Few, as all others are formulas of sizes, not known for this architecture." in words


def test_json_names_who_counts_in_each_convention():
    (model,) = plain(count_document(subject(row("a", 10))))["models"]
    assert model["sources"].keys() == model["conventions"].keys()
    assert "FlopCounterMode" in model["sources"]["dense"]


@pytest.mark.parametrize(
    ("kept", "said"), [(4096, "4,096 bytes of keys and values a token"), (None, "not known")]
)
def test_bytes_of_a_cache_are_said_also_where_sizes_are_not_understood(kept, said):
    one = replace(subject(row("a", 10)), configuration=None, kv_bytes_per_token=kept)
    (memory,) = [f.text for f in count_document(one).findings if f.key == "memory"]
    assert said in memory


def test_shares_are_of_the_whole_and_attention_of_the_module():
    rows = (row("a.x", 30), row("a.y", 10, step="attention"), row("b", 60))
    tables = {
        table["title"]: table["rows"] for table in plain(count_document(subject(*rows)))["tables"]
    }
    assert tables["Cost of each module"] == [
        ["the whole", None, 100, 1.0, 0.1],
        ["a", None, 40, 0.4, 0.25],
        ["  x", None, 30, 0.3, None],
        ["  y", None, 10, 0.1, 1.0],
        ["b", None, 60, 0.6, None],
    ]
    assert [(step[0], step[1]) for step in tables["Cost of each step"]] == [
        ("weights", 90),
        ("attention", 10),
    ]


def test_what_is_computed_again_is_executed_and_no_more_useful():
    rows = (row("a", 10), row("a", 10, phase="recomputation"))
    (model,) = plain(count_document(subject(*rows)))["models"]
    assert (model["useful"], model["dense"], model["executed"]) == (10, 20, 40)
    assert model["phases"]["recomputation"]["executed"] == 20


def test_layers_that_alternate_are_two_lines():
    names = [(f"layers.{i}.mlp", i % 2) for i in range(8)]
    assert [(fold.name, len(fold.names)) for fold in folded(names)] == [
        ("layers.0,2..6.mlp", 4),
        ("layers.1,3..7.mlp", 4),
    ]


def test_a_screen_is_not_overfilled_and_depth_overrules_that():
    rows = [row(f"part{i}.inner", 10 + i) for i in range(15)]
    whole = plain(count_document(subject(*rows)))["tables"][1]["rows"]
    assert len(whole) == 16, "parts alone; with what is in them 30 lines"
    deep = plain(count_document(subject(*rows), depth=2))["tables"][1]["rows"]
    assert len(deep) == 31


def test_a_model_without_products_has_no_shares():
    found = plain(count_document(subject(row("a", 0))))
    assert found["tables"][1]["rows"] == [["the whole", None, 0, 1.0, None]]
