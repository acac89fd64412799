"""The page about stability says what the results of its benchmark say."""

import json
import re
import sys
from importlib import import_module
from statistics import median
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from tests.docs.pages import ROOT

from attncost.train.stability.sensitivity import RATES, sensitivity
from attncost.train.stability.variants import ADVICE, VARIANTS

FOUND = json.loads((ROOT / "benchmarks/results/stability-cpu.json").read_text())
TEXT = (ROOT / "docs/stability.md").read_text()


@pytest.fixture(scope="module")
def made():
    """Return the page as the hook leaves it."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        hook = import_module("stability_page").on_page_markdown
    finally:
        sys.path.remove(str(ROOT / "docs"))
    assert hook(TEXT, page=SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))) is None
    return hook(TEXT, page=SimpleNamespace(file=SimpleNamespace(src_uri="stability.md")))


def of(name, rate, what):
    return [row[what] for row in FOUND["trials"] if (row["variant"], row["rate"]) == (name, rate)]


def end(name, rate):
    return median(of(name, rate, "end"))


def span(name, rate, what, digits):
    values = of(name, rate, what)
    return f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"


def least(name):
    return min((end(name, rate), rate) for rate in RATES if not any(of(name, rate, "diverged")))


def test_every_variant_is_in_the_results_at_all_its_rates_from_three_seeds():
    for one in VARIANTS:
        for rate in (3e-3, 3e-2, 3e-1) if one in ADVICE else RATES:
            assert of(one.name, rate, "seed") == [0, 1, 2]


def test_the_answers_of_the_page_are_those_of_the_results():
    (recipe, at), (bare, bare_at) = least("the recipe"), least("bare AdamW")
    assert f"{recipe:.2f}" == f"{bare:.2f}" == "2.49"
    assert at == pytest.approx(10 * bare_at)
    assert f"{least('no LayerNorm')[0]:.2f}" == "2.45"
    assert max(end("the recipe", rate) for rate in RATES[2:6]) - recipe <= 0.17
    assert max(end("bare AdamW", rate) for rate in RATES[1:4]) - bare <= 0.07
    assert all(of("bare AdamW", 3e-2, "diverged"))
    assert f"{max(of('the recipe', 3e-1, 'end')):.2f}" == "3.07"
    dearer = [end("small start", rate) - end("the recipe", rate) for rate in RATES[1:6]]
    assert (f"{min(dearer):.2f}", f"{max(dearer):.2f}") == ("0.07", "0.57")


def test_layer_norm_alone_keeps_runs_from_diverging():
    ablations = {one.name for one in VARIANTS if one.name[:4] not in ("bare", "advi")}
    lost = {row["variant"] for row in FOUND["trials"] if row["diverged"]} & ablations
    assert lost == {"no LayerNorm", "no norm at all"}
    for name, rates in {"no LayerNorm": RATES[5:], "no norm at all": RATES[4:]}.items():
        assert all(all(of(name, rate, "diverged")) for rate in rates)
    assert span("no LayerNorm", 3e-2, "worst_loss", 0) == ("98", "2,250")
    for rate, without, with_ in ((3e-4, "3.04", "3.93"), (3e-3, "2.49", "2.59")):
        shown = f"{end('no LayerNorm', rate):.2f}", f"{end('the recipe', rate):.2f}"
        assert shown == (without, with_)
    after = [x for rate in RATES[4:] for x in of("norms after", rate, "end")]
    assert (f"{min(after):.2f}", f"{max(after):.2f}") == ("3.06", "3.07")


def test_what_other_parts_are_worth_is_as_the_page_says():
    def worth(name, rates):
        return [end(name, rate) - end("the recipe", rate) for rate in rates]

    assert max(map(abs, worth("no QK-norm", RATES[:5]))) < 0.02
    assert f"{worth('no QK-norm', RATES[5:6])[0]:.2f}" == "0.11"
    gains = worth("no warm-up", RATES[4:])
    assert (f"{min(gains):.2f}", f"{max(gains):.2f}") == ("0.09", "0.15")
    assert f"{end('no warm-up', 1e-2):.2f}" == "2.47"
    for name in ("no clipping", "no decay", "all decays"):
        for rate in RATES[:6]:
            seeds = [*of(name, rate, "end"), *of("the recipe", rate, "end")]
            # Less than seeds differ by.
            assert abs(worth(name, [rate])[0]) < max(seeds) - min(seeds)


def test_scores_are_as_large_as_the_page_says():
    assert f"{max(of('trained gains', 3e-1, 'largest_logit')):.0f}" == "68"
    assert f"{max(of('no QK-norm', 3e-2, 'largest_logit')):.0f}" == "133"
    assert min(of("no QK-norm", 3e-1, "largest_logit")) > 10_000
    bounded = [row["largest_logit"] for row in FOUND["trials"] if row["variant"] == "the recipe"]
    assert max(bounded) <= 4 * (1 + 1e-5)


def test_the_advice_is_judged_by_the_results():
    for rate in (3e-2, 3e-1):
        assert all(of("advised - norms", rate, "diverged"))
        assert None in of("advised - norms", rate, "worst_gradient")
    assert f"{max(of('advised - AdamW', 3e-1, 'worst_gradient')):.1f}" == "3.2"
    for name, rate, largest in (
        ("as advised", 3e-1, "8.0"),
        ("advised - decay", 3e-1, "9.0"),
        ("as advised", 3e-2, "6.4"),
        ("advised - decay", 3e-2, "12.8"),
    ):
        assert f"{max(of(name, rate, 'worst_gradient')):.1f}" == largest
    assert span("as advised", 3e-1, "worst_gradient", 0) == ("6", "8")
    assert span("advised - warm-up", 3e-1, "worst_gradient", 0) == ("10", "15")
    ends = {one.name: f"{end(one.name, 3e-3):.2f}" for one in ADVICE if "norms" not in one.name}
    assert ends["as advised"] == "2.61"
    assert ends["advised - AdamW"] == "5.48"
    assert ends["advised - warm-up"] == "2.55"
    low, high = (
        of("as advised", 3e-1, "largest_logit"),
        of("advised - decay", 3e-1, "largest_logit"),
    )
    assert [round(x, -1) for x in (min(low), max(low))] == [980, 1550]
    assert [round(x, -2) for x in (min(high), max(high))] == [7500, 11300]


def test_the_table_holds_the_sensitivity_of_every_seed(made):
    seeds = []
    for seed in range(3):
        rows = [r for r in FOUND["trials"] if (r["variant"], r["seed"]) == ("no LayerNorm", seed)]
        assert [row["rate"] for row in sorted(rows, key=lambda row: row["rate"])] == list(RATES)
        ends = [float("nan") if row["end"] is None else row["end"] for row in rows]
        seeds.append(sensitivity(ends, start=rows[0]["start"]))
    row = re.search(r"^\| no LayerNorm \| 3\.04 \|.*\|$", made, re.MULTILINE)[0]
    assert row.count("diverged") == 2
    assert f"| {median(seeds):.2f}&nbsp;±" in row


def test_every_place_of_the_page_is_filled_with_a_picture_or_a_table(made):
    assert "<!-- made" not in made
    pictures = re.findall(r"<svg.*?</svg>", made, re.DOTALL)
    assert len(pictures) == TEXT.count("<!-- made") - 3 == 5
    for picture in pictures:
        assert len(ElementTree.fromstring(picture).findall(".//{*}polyline")) >= 4
