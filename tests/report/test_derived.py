import json

from attncost import Block, Linformer, Window
from attncost.cost.block import BlockSizes
from attncost.cost.derivation import derive
from attncost.patterns.full import Full
from attncost.report.derived import all_derived, one_derived
from attncost.report.plain import dumped
from attncost.report.text import text

BLOCK = BlockSizes(d_model=512, heads=8)


def derived(attention, length=2048, longest=32):
    found = derive(attention, BLOCK, length=length)
    return one_derived(found, name="it", command="c", longest=longest)


def test_the_facts_of_the_articles_are_in_it():
    """262,144 pairs at 512 tokens; 16 MiB a head at 2048 in float32, not for all of them."""
    assert "262,144 pairs" in text(derived(Full(), 512))
    shown = " ".join(text(derived(Full())).split())
    assert "16.0 MiB in float32, so 128 MiB for 8 heads" in shown
    assert f"3·n·d = {3 * 2048 * 512:,} numbers" in shown


def test_each_kind_of_attention_says_what_holds_for_it():
    full, window, linformer = (
        " ".join(text(derived(one)).split()) for one in (Full(), Window(64), Linformer(64))
    )
    assert "costs as much as the projections from n = 1,024" in full
    assert "of the FLOPs of full attention" not in full
    assert "never costs as much as the projections, up to n = 8,192" in window
    assert "it is cheaper from n = 129" in linformer
    assert "n x n" not in linformer
    never = text(derived(Window(100_000, ahead=99_999 // 2)))
    assert "is not cheaper at any length up to 8,192" in " ".join(never.split())


def test_shares_add_up_to_the_whole():
    document = all_derived({"full": derive(Full(), BLOCK, length=1024)}, command="c")
    (table,) = document.sections[0].blocks
    assert table.rows[0][2:4] == (4_294_967_296, 0.5)
    (layer,) = json.loads(dumped(document))["layers"]
    assert sum(step["flops"] for step in layer["steps"]) == layer["flops"]
    assert layer["outgrows_rest_of_block_from"] == 3072


def test_where_a_pattern_wins_is_said_by_every_measure():
    """At 65 tokens a second block of 64 begins: 64² + 1 pairs of 65², in tiles of as many."""
    document = derived(Block(64), longest=200)
    (table,) = document.sections[-1].blocks
    assert [row[0] for row in table.rows] == [
        *("FLOPs, useful", "FLOPs, executed"),
        *("bytes moved", "memory at once"),
    ]
    assert [row[1:] for row in table.rows] == [
        *[(65, 65, 1, 200)] * 2,
        ("never", "never", 0, 200),
        ("no formula", None, None, None),
    ]
    assert "`folded` does, which `attention` runs at n = 200" in table.note
    (layer,) = json.loads(dumped(document))["layers"]
    found = layer["against_full"]
    assert found["kernel"] == "folded"
    assert found["executed"] == {"first": 65, "lasting": 65, "times": 1, "longest": 200}
    assert found["memory"] is None


def test_an_approximation_is_compared_by_its_definition_and_full_attention_not_at_all():
    """2 n r for its own products with r = 64, and n² for full attention, so n = 129."""
    document = derived(Linformer(64), longest=200)
    (table,) = document.sections[-1].blocks
    assert table.rows[1] == ("FLOPs, executed", 129, 129, 1, 200)
    assert "follows from its definition" in table.note
    assert "wins" not in text(derived(Full()))
