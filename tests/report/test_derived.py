import json

from attncost import Block, Linear, Linformer, Window, formula, pattern
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
    (table,) = document.sections[1].blocks
    assert table.rows[0][2:4] == (4_294_967_296, 0.5)
    (layer,) = json.loads(dumped(document))["layers"]
    assert sum(step["flops"] for step in layer["steps"]) == layer["flops"]
    assert layer["outgrows_rest_of_block_from"] == 3072


def test_each_kind_of_attention_has_a_table_and_says_how_far_it_was_compared():
    bigbird = derive(pattern("bigbird", block=16), BLOCK, length=64)
    found = {"full": derive(Full(), BLOCK, length=64), "bigbird": bigbird}
    found["nystrom"] = derive(formula("nystrom"), BLOCK, length=64)
    said, exact, formulas = all_derived(found, command="c").sections
    assert "up to 8,192 were compared, up to 1,024 where pairs are counted" in said.text[0]
    assert [[row[0] for row in section.blocks[0].rows] for section in (exact, formulas)] == [
        ["full", "bigbird"],
        ["nystrom"],
    ]
    assert "a price, and nothing here that runs it" in formulas.title


def test_dials_are_said_even_where_they_are_as_ever():
    one = derived(formula("top_k"))
    assert "Self-attention, top_k:keys=64:" in one.title
    both = {"linear": Linear(causal=True), "full": Full(), "linformer": Linformer(64)}
    found = all_derived({k: derive(v, BLOCK, length=64) for k, v in both.items()}, command="c")
    approximate, exact = found.sections[1:]
    assert approximate.text == (
        "Dials, as they are priced here: linear:feature_map=elu,causal=1; linformer:rank=64.",
    )
    assert exact.text == ()
    dials = [layer["dials"] for layer in json.loads(dumped(found))["layers"]]
    assert dials[0] == {"feature_map": "elu", "causal": True}
    assert (dials[1], dials[2]["rank"]) == ({}, 64)


def test_what_is_executed_and_whether_heads_matter_is_said_where_it_is_not_as_ever():
    """4,096 n d_model for writing and reading d x d numbers of 8 heads, and chunks of 64 pairs."""
    shown = " ".join(text(derived(formula("gated_linear"))).split())
    n, d = 2048, 512
    executed = 8 * n * d**2 + 4 * n * d * 64 + 4 * n * d * 64
    assert f"chunks and padding included, it executes {executed:,} FLOPs" in shown
    assert "Heads change the total, as the h in it says: each of the 8" in shown
    assert "Source: Yang et al. 2023, arXiv:2312.06635; a price alone, it is not run here" in shown
    full = " ".join(text(derived(Full())).split())
    assert "it executes" not in full
    assert "Heads do not change the total" in full
    assert "run here" not in full
    (layer,) = json.loads(dumped(derived(formula("gated_linear"))))["layers"]
    assert (layer["kind"], layer["executed"]) == ("formula only", executed)


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
