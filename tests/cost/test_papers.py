"""Figures that papers print, recomputed: sizes and figures are theirs, formulas are ours."""

import pytest
import sympy
from tests.papers import PUBLISHED, chinchilla, gpt, megatron, palm, table

from attncost import BlockSizes, Causal, Configuration, Dims, Full, Pattern
from attncost.core.counts import symbol
from attncost.cost.conventions import convention
from attncost.cost.reading import preset
from attncost.cost.utilisation import claimed, utilisation
from attncost.kernels.interface import priced

D, N = symbol("d"), symbol("n")


def of_rows(name, key):
    return pytest.mark.parametrize("row", table(name), ids=lambda row: str(row[key]))


def published(formula, **values):
    return sympy.sympify(formula, locals=values)


def shaped(entry):
    """Return a model of an entry's shape as wide as the symbol d, and the values of its letters."""
    sizes = PUBLISHED[entry]
    model = gpt(layers=7, hidden=D, heads=4, vocabulary=sizes["vocabulary"], length=sizes["length"])
    rows = sizes["vocabulary"]
    return model, {"l": 7, "h": D, "s": N, "V": rows, "v": rows}


@of_rows("narayanan_2021_table1", "billion_parameters_printed")
def test_parameters_of_narayanan(row):
    model = megatron("narayanan_2021_table1", row)
    billions = model.parameters / 1e9
    assert abs(billions - row["billion_parameters_printed"]) <= 0.0501
    assert billions == pytest.approx(row["parameters_in_billions_computed"], abs=6e-4)


def test_the_formula_of_narayanan_leaves_out_the_last_norm_alone():
    model, letters = shaped("narayanan_2021_table1")
    letters["s"] = PUBLISHED["narayanan_2021_table1"]["length"]
    theirs = published(PUBLISHED["narayanan_2021_table1"]["parameters"], **letters)
    assert sympy.expand(model.parameters - theirs) == 2 * D


@pytest.mark.parametrize(
    ("entry", "key", "name"),
    [
        ("narayanan_2021_table1", "training_flops_of_a_sequence", "narayanan"),
        ("korthikanti_2022", "model_flops_of_a_sequence", "korthikanti"),
        ("korthikanti_2022", "hardware_flops_of_a_sequence", "korthikanti-hardware"),
    ],
)
def test_formulas_of_training_are_those_that_are_printed(entry, key, name):
    model, letters = shaped(entry)
    ours = convention(name).flops(model, N, training=True)
    assert sympy.expand(ours - published(PUBLISHED[entry][key], **letters)) == 0


@of_rows("narayanan_2021_table1", "billion_parameters_printed")
def test_percentages_of_narayanan(row):
    """They print no times, so the time of a step is what their formula and their FLOP/s give."""
    sizes = PUBLISHED["narayanan_2021_table1"]
    letters = {"l": row["layers"], "h": row["hidden"], "s": sizes["length"], "V": 51200}
    theirs = float(published(sizes["training_flops_of_a_sequence"], **letters))
    shares = utilisation(
        megatron("narayanan_2021_table1", row),
        sizes["length"],
        tokens_per_second=row["teraflops_per_gpu"] * 1e12 * row["gpus"] / theirs * sizes["length"],
        peak=sizes["peak"] * row["gpus"],
    )
    assert round(100 * shares["narayanan"]) == row["percent_of_peak"]


@of_rows("korthikanti_2022", "name")
def test_utilisation_of_korthikanti(row):
    sizes = PUBLISHED["korthikanti_2022"]
    shares = utilisation(
        megatron("korthikanti_2022", row),
        sizes["length"],
        tokens_per_second=row["batch"] * sizes["length"] / row["iteration_seconds"],
        peak=sizes["peak"] * row["gpus"],
    )
    ours = [100 * shares[name] for name in ("korthikanti", "korthikanti-hardware")]
    printed = [row["mfu_percent"], row["hfu_percent"]]
    if row["name"] == "22B":
        assert ours == pytest.approx(printed, abs=0.3)
    else:
        assert [round(share, 1) for share in ours] == printed


@of_rows("chinchilla_table_a4", "name")
def test_ratios_of_chinchilla_in_both_conventions(row):
    model, n = chinchilla(row), PUBLISHED["chinchilla_table_a4"]["length"]
    assert model.parameters == row["parameters_N"]
    rough = convention("6N").flops(model, n, training=True)
    blocks, whole = (
        convention(name).flops(model, n, training=True) / rough
        for name in ("chinchilla-blocks", "chinchilla")
    )
    assert round(blocks, 2) == row["ratio_printed"]
    assert blocks == pytest.approx(row["ratio_without_embedding_and_logits"], abs=6e-5)
    assert round(whole, 2) == row["ratio_with_them"]


def test_utilisation_of_palm_with_and_without_attention():
    sizes, model = PUBLISHED["palm_appendix_b"], palm()
    assert round(model.parameters / 1e9, 2) == sizes["parameters"] / 1e9
    attention = 3 * convention("palm").attention(model, sizes["length"])
    assert attention == sizes["attention_flops_per_token"] * sizes["length"]
    shares = utilisation(
        model,
        sizes["length"],
        tokens_per_second=sizes["tokens_per_second"],
        peak=sizes["peak"] * sizes["chips"],
    )
    assert round(100 * shares["palm"], 1) == sizes["mfu_with_attention"]
    assert round(100 * shares["6N"], 1) == sizes["mfu_without"]
    candidates = claimed(f"{sizes['mfu_with_attention']}%", shares)
    assert "palm" in {one.convention for one in candidates if one.agrees}
    assert "6N" not in {one.convention for one in candidates if one.agrees}


def test_training_of_gpt3():
    printed, model = PUBLISHED["gpt3_total"], preset("gpt-3")
    assert round(model.parameters / 1e9, 1) == printed["parameters"] / 1e9
    total = convention("6N").flops(model, 1, training=True) * int(printed["tokens"])
    assert float(f"{total:.2e}") == printed["printed"]


def test_the_forward_pass_of_kaplan():
    printed = PUBLISHED["kaplan_forward_per_token"]
    block = BlockSizes(d_model=D, heads=symbol("h"), head_dim=symbol("k"), hidden=symbol("f"))
    model = Configuration.alike("any", block, Causal(), layers=7)
    letters = {"d_model": D, "n_layer": 7, "n_ctx": N, "d_ff": block.hidden}
    letters["d_attn"] = block.heads * block.head_dim
    letters["N"] = published(printed["parameters"], **letters)
    assert sympy.expand(model.matrices - letters["N"]) == 0
    theirs = published(printed["forward_flops_of_a_token"], **letters)
    assert sympy.expand(convention("kaplan").flops(model, N) - N * theirs) == 0


@of_rows("maxtext_llama2_7b", "length")
def test_attention_of_maxtext(row):
    batch, model = PUBLISHED["maxtext_llama2_7b"]["batch"], preset("llama-2-7b")
    for name, printed in (("dense", row["dense"]), ("half", row["causal_halved"])):
        flops = 3 * batch * convention(name).attention(model, row["length"])
        assert round(flops / 1e12, 2) == printed


def test_causal_pairs_of_unequal_lengths_are_aligned_at_the_end():
    printed = PUBLISHED["causal_unequal_lengths"]
    n, m = printed["length"], printed["kv_length"]
    assert Causal().pairs(n, m) == printed["pairs_bottom_right"]
    dims = Dims(length=n, kv_length=m, head_dim=printed["head_dim"], value_dim=printed["value_dim"])
    flops = printed["flops_head_dim_8_value_dim_16_bottom_right"]
    assert priced(Causal(), dims).useful == flops


@pytest.mark.parametrize("d", [64, 512, 640])
@pytest.mark.parametrize(
    ("key", "attention", "feeds"),
    [
        ("attention_equals_projections", Full(), False),
        ("dense_attention_equals_whole_layer", Full(), True),
        ("causal_attention_equals_whole_layer", Causal(), True),
    ],
)
def test_attention_meets_the_rest_of_a_layer_where_algebra_says(key, attention: Pattern, feeds, d):
    block = BlockSizes(d_model=d, heads=8, hidden=4 * d if feeds else None)
    model = Configuration.alike("a layer", block, attention)
    expected = int(published(PUBLISHED["crossovers"][key], d=d))
    assert model.attention_takes_over(limit=16 * d) == expected
    assert model.core(expected).useful == model.linear(expected).useful
