"""The document of a plan for a text, against numbers that are written out by hand."""

import pytest
from tests.report.test_compared_ways import ALIKE, APART, MASKED, PAIR, SLOT, asked

import attncost as ac
from attncost.batches.curves import Curves
from attncost.batches.priced import priced
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.batches.ways.stepped import Stepped
from attncost.report.batching import batching_document, ways_table, written
from attncost.report.compared_ways import Compared, Comparison, compared
from attncost.report.document import Document, Section
from attncost.report.text import text

SIXTEEN = Stepped(tuple(range(100, 260, 10)), 4)


def document(found, device=""):
    return batching_document(found, name="a layer", device=device, command="c")


def cheapest(way, documents="apart"):
    """Return a comparison in which a way is the best."""
    found = compared(asked(ALIKE))
    one = Compared(
        priced=priced(way, ALIKE, found.asked.model, documents=documents), bytes=1, room=None
    )
    return Comparison(
        asked=found.asked, base=found.base, choices=found.choices, ways=(one,), fits=True
    )


def test_the_table_says_slots_pairs_and_flops_of_each_way():
    table = ways_table(compared(asked(ALIKE)), "c")
    assert [column.title for column in table.columns] == [
        *("way", "padding", "pairs", "executed", "of usual")
    ]
    usual, *ways = table.rows
    assert usual == ("padded (size 2) at random", 0.0, 1.0, APART, 1.0)
    (masked,) = (row for row in ways if "mask" in row[0])
    assert masked[1:] == (0.0, 24**2 / (6 * 16), MASKED, MASKED / APART)


def test_seconds_are_those_of_the_machine():
    # Ten seconds a call, one a slot, and nothing for attention.
    machine = Curves("known", rest=((1, 11.0), (2, 12.0)), attend=((1, 1e-12),))
    found = compared(asked(ALIKE, machine=machine))
    table = ways_table(found, "c")
    assert table.columns[4].title == "time"
    assert table.rows[0][4] == pytest.approx(3 * 10 + 24)
    assert min(row[4] for row in table.rows) == pytest.approx(10 + 24)
    assert table.note.endswith("Time of all lines once, forward: known.")
    assert "FLOPs know no price" not in table.note


def test_without_a_machine_the_next_step_comes_first_and_what_flops_leave_open():
    found = compared(asked(ALIKE))
    note = ways_table(found, "c").note
    assert note.startswith("For times here: attncost measure --calibrate -o FILE, then ")
    assert "--calibration FILE --time" in note
    assert f" {found.equal} other settings take as many within 0.1 %" in note


def test_facts_and_findings_write_ways_alike_and_python_can_read_them():
    found = document(compared(asked([2, 2, 2, 8])))
    (masked,) = (one for one in found.findings if one.key == "batching_masked")
    written_ways = [masked.values["way"], *(way["way"] for way in found.facts["ways"])]
    for way in written_ways:
        assert isinstance(eval(f"ac.batches.{way}", {"ac": ac}), ac.batches.Batching)
    # Wherever the long line is, the usual way pads one short line to its length.
    useful = 14 * SLOT + (3 * 4 + 64) * PAIR
    usual = (2 * 2 + 2 * 8) * SLOT + (2 * 4 + 2 * 64) * PAIR
    assert masked.values["times"] == useful / usual, "one text a batch needs no mask"
    assert found.facts["useful"] == useful
    assert found.facts["usual"]["way"] == "Padded(size=2)"


@pytest.mark.parametrize(
    ("memory", "device", "where"),
    [
        (None, "", "by FLOPs, on no machine"),
        (1 << 30, "", "by FLOPs, on no machine; 1.00 GiB"),
        (1 << 30, "a GPU", "by FLOPs, on no machine; a GPU"),
    ],
)
def test_the_subtitle_says_where(memory, device, where):
    assert document(compared(asked(ALIKE, memory=memory)), device).subtitle == where


@pytest.mark.parametrize(
    ("way", "documents", "collator"),
    [
        (Packed(64), "apart", "packing"),
        (Packed(64, multiple=8), "masked", "packing"),
        (Padded(8), "apart", "padding"),
        (SIXTEEN, "apart", "padding"),
    ],
    ids=str,
)
def test_what_is_printed_runs_on_a_model_and_rounds_rows_as_the_way_does(way, documents, collator):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=32, intermediate_size=16, **sizes)
    model = transformers.LlamaModel(config).eval()
    lines = written(cheapest(way, documents))
    page = Document(schema="s/1", title="t", sections=(Section(title="code", text=tuple(lines)),))
    code, *_ = text(page).partition("code\n")[2].partition("The collator tries")
    assert ("register" in code) == (way.packs and documents == "apart")
    scope = {"model": model}
    exec(code, scope)
    assert scope["way"] == way
    batch = scope["collator"]([[5, 6, 7], [8, 9]])
    assert f"ac.hf.{collator}_collator(" in code
    assert batch["input_ids"].shape[1] == way.row_slots(5 if way.packs else 3)
