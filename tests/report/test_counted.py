from attncost.core.cost import Cost
from attncost.cost.counting.counted import AttentionRow, Counted, Row, Unpriced
from attncost.cost.difference import owned
from attncost.report.counted import count_document
from attncost.report.folded import folded
from attncost.report.plain import plain
from attncost.report.subject import Subject
from attncost.report.text import text


def row(module, flops, *, step="weights", phase="forward"):
    cost = Cost(useful=flops, executed=2 * flops, dense=2 * flops, elementwise=3, bytes=5)
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
    assert "at least at most 100 FLOPs useful, at least 200 FLOPs dense" in words
    assert "at most, because it is hidden" in words
    assert "my::op a 4 (2, 3)" in words
    exact = text(count_document(subject(row("a", 100))))
    assert "at least" not in exact
    assert "at most" not in exact


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
