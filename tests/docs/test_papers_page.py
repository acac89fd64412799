"""Every number of the page about papers is computed here from the code, or printed in a paper."""

import re

import pytest
from tests.docs.pages import ROOT
from tests.papers import PUBLISHED, chinchilla, megatron, palm, table

from attncost.cost.block import BlockSizes
from attncost.cost.conventions import convention, conventions, flops_by_convention
from attncost.cost.planning import Sharding, activation_bytes
from attncost.cost.reading import preset
from attncost.cost.utilisation import utilisation

PAGE = (ROOT / "docs" / "papers.md").read_text("utf-8")
# What is no sentence, and the digits of names: Llama-3-8B, Table 1, pull request 1988.
APART = (
    r"^```.*?^```$",
    r"`[^`]*`",
    r"\]\([^)]*\)",
    r"arXiv:[\d.]+",
    r"\b[A-Z]\w+-[\w.-]+\b",
    r"Table [\w.]+",
    r"request \d+",
)
CODE = re.compile("|".join(APART), re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e\d+)?")
LLAMA, GPT3 = preset("llama-3-8b"), preset("gpt-3")


def rows(*cells):
    return [" | ".join(str(cell) for cell in row) for row in cells]


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def by_convention():
    flops = flops_by_convention(LLAMA, 8192, training=True)
    return rows(
        *(
            (
                f"`{name}`",
                convention(name).counts,
                convention(name).source,
                f"{flops[name] / 1e12:.1f}",
                f"{flops[name] / flops['exact']:.3f}",
            )
            for name in conventions()
        )
    )


def of_kaplan():
    token = {
        name: [convention(name).flops(GPT3, n) / n / 1e9 for n in (2048, 131072)]
        for name in ("kaplan", "exact")
    }
    return rows(*((f"`{name}`", f"{at[0]:.1f}", f"{at[1]:.1f}") for name, at in token.items()))


def of_gpt3():
    printed, n = PUBLISHED["gpt3_total"], PUBLISHED["palm_appendix_b"]["length"]
    total = {
        name: convention(name).flops(GPT3, n, training=True) / n * printed["tokens"]
        for name in ("6N", "exact", "dense")
    }
    return rows(
        ("parameters", f"{printed['parameters'] / 1e9:.1f} billion", billions(GPT3), ""),
        ("training", f"{printed['printed']:.2e}", f"{total['6N']:.2e}", "`6N`"),
        *(("", "", f"{total[name]:.2e}", f"`{name}`") for name in ("exact", "dense")),
    )


def billions(model, digits=1):
    return f"{model.parameters / 1e9:.{digits}f} billion"


def of_narayanan():
    sizes = PUBLISHED["narayanan_2021_table1"]
    found = []
    for row in table("narayanan_2021_table1"):
        model = megatron("narayanan_2021_table1", row)
        share = row["teraflops_per_gpu"] * 1e12 / sizes["peak"]
        theirs = convention("narayanan")
        others = (
            share * theirs.factor(convention(name), model, sizes["length"], training=True)
            for name in ("dense", "exact")
        )
        found.append(
            (
                f"{row['billion_parameters_printed']:.1f}",
                f"{model.parameters / 1e9:.3f}",
                f"{row['percent_of_peak']} %",
                percent(share),
                *(percent(other) for other in others),
            )
        )
    return rows(*found)


def of_korthikanti():
    sizes = PUBLISHED["korthikanti_2022"]
    n, found = sizes["length"], []
    for row in table("korthikanti_2022"):
        model = megatron("korthikanti_2022", row)
        tokens = row["batch"] * n / row["iteration_seconds"]
        peak = sizes["peak"] * row["gpus"]
        shares = utilisation(model, n, tokens_per_second=tokens, peak=peak)
        once = convention("dense").attention(model, n) * tokens / n
        found.append(
            (
                row["name"],
                f"{row['mfu_percent']} %",
                percent(shares["korthikanti"]),
                f"{row['hfu_percent']} %",
                percent(shares["korthikanti-hardware"]),
                percent(shares["korthikanti"] + once / peak),
                percent(shares["exact"]),
            )
        )
    return rows(*found)


def of_activations():
    sizes, (row,) = (
        PUBLISHED["korthikanti_2022"],
        [row for row in table("korthikanti_2022") if row["name"] == "175B"],
    )
    block = BlockSizes(d_model=row["hidden"], heads=row["heads"])
    shared, sequence = Sharding(tensor=8), Sharding(tensor=8, sequence=True)
    ways = {
        "everything": ("none", Sharding(), "none"),
        "everything, tensor parallel": ("tp8", shared, "none"),
        "everything, in sequence too": ("tp8_sp", sequence, "none"),
        "all but scores and weights, likewise": ("tp8_sp_selective", sequence, "selective"),
    }
    apart = sizes["activation_bytes_per_layer_16bit_with_dropout"]["gib_175B_batch_1"]
    kept = {
        name: activation_bytes(block, length=sizes["length"], sharding=way, recompute=again)
        for name, (_, way, again) in ways.items()
    }
    return rows(
        *(
            (name, f"{kept[name]:,}", f"{kept[name] / 2**30:.4g}", f"{apart[key]}")
            for name, (key, _, _) in ways.items()
        )
    )


def of_chinchilla():
    n, found = PUBLISHED["chinchilla_table_a4"]["length"], []
    for row in table("chinchilla_table_a4"):
        flops = flops_by_convention(chinchilla(row), n, training=True)
        ratios = (
            f"{flops[name] / flops['6N']:.2f}"
            for name in ("chinchilla-blocks", "chinchilla", "exact")
        )
        found.append((row["name"], billions(chinchilla(row), 3), row["ratio_printed"], *ratios))
    return rows(*((name, n, f"{ratio:.2f}", *rest) for name, n, ratio, *rest in found))


def of_palm():
    sizes, model = PUBLISHED["palm_appendix_b"], palm()
    shares = utilisation(
        model,
        sizes["length"],
        tokens_per_second=sizes["tokens_per_second"],
        peak=sizes["peak"] * sizes["chips"],
    )
    attention = 3 * convention("palm").attention(model, sizes["length"]) // sizes["length"]
    return rows(
        ("parameters", f"{sizes['parameters'] / 1e9:.2f} billion", billions(model, 2), ""),
        (
            "attention's FLOPs of a token",
            f"{sizes['attention_flops_per_token']:,}",
            f"{attention:,}",
            "`palm`",
        ),
        ("utilisation", f"{sizes['mfu_with_attention']} %", percent(shares["palm"]), "`palm`"),
        ("without attention", f"{sizes['mfu_without']} %", percent(shares["6N"]), "`6N`"),
        ("", "", percent(shares["exact"]), "`exact`"),
    )


def of_maxtext():
    batch, model = PUBLISHED["maxtext_llama2_7b"]["batch"], preset("llama-2-7b")
    found = []
    for row in table("maxtext_llama2_7b"):
        n = row["length"]
        dense, half, exact = (
            f"{3 * batch * convention(name).attention(model, n) / 1e12:,.2f}"
            for name in ("dense", "half", "exact")
        )
        printed = (f"{row[name]:,.2f}" for name in ("dense", "causal_halved"))
        before, after = printed
        found.append((f"{n:,}", before, dense, after, half, exact))
    return rows(*found)


def of_caches():
    names = {
        "Llama-2-7B": "llama-2-7b",
        "Llama-3-8B": "llama-3-8b",
        "Llama-3.1-405B": "llama-3-405b",
        "Mistral-7B": "mistral-7b",
        "GPT-3 175B": "gpt-3",
    }
    return rows(
        *(
            (
                row["name"],
                f"{row['bytes']:,}",
                f"{preset(names[row['name']]).kv_bytes_per_token():,}",
                row["sizes"],
            )
            for row in table("kv_cache_bytes_per_token_16bit")
            if row["name"] in names
        )
    )


TABLES = {
    "Thirteen ways to count": by_convention,
    "Kaplan et al. 2020": of_kaplan,
    "GPT-3, 2020": of_gpt3,
    "Narayanan et al. 2021": of_narayanan,
    "Korthikanti et al. 2022": of_korthikanti,
    "Korthikanti et al. 2022, activations": of_activations,
    "Chinchilla, 2022": of_chinchilla,
    "PaLM, 2022": of_palm,
    "MaxText, 2025": of_maxtext,
    "Caches of keys and values": of_caches,
}


def section(title):
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return found


@pytest.mark.parametrize("title", TABLES)
def test_a_table_holds_what_the_code_computes(title):
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [" | ".join(row) for row in cells] == TABLES[title]()


def test_every_table_is_computed():
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == list(TABLES)
    assert len(conventions()) == 13


def in_sentences():
    """Return every number of the prose that is neither in a table nor code."""
    megatron_sizes, chips = PUBLISHED["narayanan_2021_table1"], PUBLISHED["palm_appendix_b"]
    assert megatron_sizes["peak"] == PUBLISHED["korthikanti_2022"]["peak"]
    flops = flops_by_convention(LLAMA, 8192, training=True)
    shares = [count for name, count in flops.items() if name != "macs"]
    (smallest, *_), n = table("chinchilla_table_a4"), PUBLISHED["chinchilla_table_a4"]["length"]
    training = flops_by_convention(chinchilla(smallest), n, training=True)
    one = megatron("korthikanti_2022", table("korthikanti_2022")[0])
    extra = convention("korthikanti-hardware").flops(one, n, training=True)
    extra -= convention("korthikanti").flops(one, n, training=True)
    softmax = convention("chinchilla").attention(one, n) - convention("dense").attention(one, n)
    block = LLAMA.block
    return {
        "8,192",
        f"{max(shares) / min(shares):.2f}",
        f"{convention('6N').flops(GPT3, 1, training=True) // GPT3.parameters}",
        f"{megatron_sizes['length']:,}",
        f"{megatron_sizes['peak'] / 1e12:.0f}",
        f"{extra // convention('korthikanti').attention(one, n)}",
        f"{training['chinchilla'] / training['6N']:.2f}",
        f"{smallest['ratio_printed']}",
        f"{softmax // (one.layers * one.block.heads * n * n)}",
        f"{chips['tokens_per_second']:,}",
        f"{chips['chips']:,}",
        f"{chips['peak'] / 1e12:.0f}",
        f"{PUBLISHED['maxtext_llama2_7b']['batch']}",
        f"{block.heads // block.kv_heads}",
        f"{block.kv_heads}",
        f"{block.heads}",
    }


def test_every_number_in_a_sentence_is_computed():
    prose = "\n".join(line for line in CODE.sub(" ", PAGE).splitlines() if line[:1] not in "|#")
    years = {str(year) for year in range(2020, 2026)}
    found = {number.rstrip(",") for number in NUMBER.findall(prose)} - years
    assert found == in_sentences()
