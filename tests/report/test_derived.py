import json

from attncost import Linformer, Window
from attncost.cost.block import BlockSizes
from attncost.cost.derivation import derive
from attncost.patterns.full import Full
from attncost.report.derived import all_derived, one_derived
from attncost.report.plain import dumped
from attncost.report.text import text

BLOCK = BlockSizes(d_model=512, heads=8)


def derived(attention, length=2048):
    return one_derived(derive(attention, BLOCK, length=length), name="it", command="c")


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
