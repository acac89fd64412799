from dataclasses import replace

import pytest
from tests.measure.laws.laws import (
    LENGTHS,
    MANY,
    D,
    article,
    full,
    medians_of,
    naive_bytes,
    pages,
    samples,
    seconds,
    shaken,
    stepped,
    window,
)

from attncost import fit_law
from attncost.measure.laws.fit import fit_medians
from attncost.measure.laws.law import Margins
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.sentences import because, changes, grows, sentences, shares


def said(law, word):
    """Return the only sentence with a word in it."""
    (found,) = [sentence for sentence in sentences(law)[1:] if word in sentence]
    return found


def test_the_verdict_comes_first_and_then_the_law():
    law = fit_law(samples(noise=1e-5), predicted=full)
    verdict, equation, *rest = sentences(law)
    assert verdict == law.verdict.sentence
    assert equation == "T(n) = 200 µs + linear(n) / 70.0 GFLOP/s + core(n) / 50.0 GFLOP/s"
    place = said(law, "Attention")
    assert place.startswith("Attention takes longer than the rest from 731 [731, 731] tokens")
    assert place.endswith("by formula at 1,024.")
    assert rest[-1] == "Intervals are 95 %, from 9 or more samples a length."


def test_the_long_end_is_compared_with_its_formula():
    law = fit_law(samples(noise=1e-5), predicted=full)
    assert said(law, "From ").startswith("From 1,024 to 4,096 tokens time grows as n^1.7")
    assert said(law, "From ").endswith(f"FLOPs as n^{law.long_end.theory:.2f}.")


def test_lengths_that_end_before_four_crossovers_are_too_short_to_place_one():
    short = fit_law(samples(noise=1e-5, lengths=LENGTHS[:-1]), predicted=full)
    assert short.crossover is None
    assert short.needed == 4096
    assert "2,048 are less than 4 x that; measure up to 4,096" in said(short, "Too short")
    assert "too short to place a crossover (formula: 1,024" in short.verdict.sentence
    enough = fit_law(samples(noise=1e-5), predicted=full)
    assert enough.needed is None
    assert "too short" not in enough.verdict.sentence


@pytest.mark.parametrize("repeats", [1, 9])
def test_the_design_of_the_article_is_too_short_whatever_is_measured(repeats):
    lengths = (64, 128, 256, 512, 1024)
    law = fit_law(samples(noise=1e-3, repeats=repeats, lengths=lengths), predicted=full)
    for judged in (law, article()):
        assert (judged.crossover, judged.needed) == (None, 4096)
        assert "too short to place a crossover" in judged.verdict.sentence
    assert law.verdict.word == "consistent"


def test_a_window_has_no_crossover_and_other_widths_would_tell_its_terms_apart():
    law = fit_law(samples(noise=1e-5, core_rate=7e10, predicted=window), predicted=window)
    assert sentences(law)[1] == "T(n) = 200 µs + FLOPs(n) / 70.0 GFLOP/s"
    assert "there is no crossover" in said(law, "crossover")
    assert "measure other widths at the same lengths" in said(law, "widths")
    assert "grows as n·w" in grows(law)


@pytest.mark.parametrize(
    ("linear", "words"),
    [(0, "There is no linear part at"), (8 * D**2, "The linear part is the same at")],
)
def test_without_a_linear_part_that_grows_there_is_no_crossover(linear, words):
    law = fit_law(
        {n: [1e-4 + 4 * n * D / 5e9] for n in LENGTHS},
        predicted=lambda n: Predicted(linear=linear, core=4 * n * D),
    )
    assert said(law, "crossover").startswith(words)


def test_a_formula_that_never_crosses_over_says_so():
    def levels(n):
        return Predicted(linear=8 * n * D**2, core=4 * n * min(n, 512) * D)

    law = fit_law(samples(noise=1e-5, predicted=levels), predicted=levels)
    assert "By formula attention never takes longer" in said(law, "crossover")


def test_a_term_without_time_is_named():
    law = fit_law({n: [1e-3] * 6 for n in LENGTHS}, predicted=full)
    assert sentences(law)[1] == "T(n) = 1.00 ms; linear(n) gets no time; core(n) gets no time"
    assert "no time that can be told from the rest" in said(law, "can be told")
    assert grows(law).startswith("Time does not grow")


def test_a_table_tells_what_its_intervals_are_and_when_there_are_none():
    assert "within 5 % and 50.0 µs of rounding of every value" in sentences(article())[-1]
    assert "There are no intervals: no law is within 5 %" in sentences(article(Margins()))[-1]


def test_reasons_that_the_sentence_gives_are_not_repeated():
    assert [text.split()[0] for text in because(article())] == ["Exponents", "Within"]
    law = fit_law(samples(noise=1e-5), predicted=full)
    assert [text.split()[0] for text in because(law)] == ["From", "Exponents"]


def test_page_faults_are_named_with_what_they_take():
    times = {n: seconds(n) + 2e-6 * pages(n) for n in MANY}
    law = fit_medians(medians_of(shaken(times, noise=0.01), faults=pages), predicted=full)
    share = 2e-6 * pages(4096) / times[4096]
    (sentence,) = shares(law)
    assert sentence.startswith("Page faults take ")
    assert float(sentence.split()[3]) == pytest.approx(100 * share, rel=0.1)
    assert "of the time at 4,096 tokens, " in sentence
    assert "faults(n) x " in sentences(law)[1]
    assert "with its FLOPs and page faults" in law.verdict.sentence


def test_bytes_that_grow_as_flops_do_ask_for_other_heads():
    law = fit_law(samples(noise=0.01, lengths=MANY), predicted=naive_bytes)
    assert "the same d_model with other numbers of heads" in said(law, "bytes")


@pytest.mark.parametrize(
    ("factor", "words"), [(1.4, "every call takes 1.4"), (0.7, "every call takes 0.7")]
)
def test_a_change_says_where_and_by_how_much(factor, words):
    law = fit_law(shaken(stepped(factor, MANY), noise=0.005), predicted=full)
    (sentence,) = changes(law)
    assert sentence.startswith("Another law holds from 1,024 tokens on (between 768 and 1,024): ")
    assert words in sentence
    assert ("more at" if factor > 1 else "less at") in sentence
    assert changes(fit_law(samples(noise=0.005, lengths=MANY), predicted=full)) == ()


def test_classes_that_cannot_be_told_apart_are_all_named():
    law = fit_law(samples(noise=0.01, lengths=MANY), predicted=full)
    assert grows(law).startswith("Time grows as n + n², AICc ")
    rival = replace(law.growth, undecided=("n^1.5", "n²"), gap=3.0)
    assert grows(replace(law, growth=rival)) == (
        "Time grows as n + n², n^1.5 or n², which these lengths cannot tell apart."
    )
    few = fit_law(samples(noise=0.01, lengths=LENGTHS[:5]), predicted=full)
    assert grows(few).startswith("5 lengths are too few to name a class of growth: it takes 6")


LINEAR = {n: 1e-4 + 1e-6 * n for n in MANY}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "times", [LINEAR, {n: 1e-9 * n**2 for n in MANY}, dict.fromkeys(MANY, 1e-3)]
)
def test_the_gap_is_the_least_over_the_classes_that_the_sentence_speaks_of(times, seed):
    law = fit_medians(medians_of(shaken(times, noise=0.02, seed=seed)), predicted=full)
    first, *rest = grows(law).removesuffix(".").split(", AICc ")
    for text in rest:
        number, others = text.split(" less than any ")
        named = others.partition("class but ")[2].partition(", whose ")[0]
        left_out = {one for part in named.split(" and ") for one in part.split(", ")} - {""}
        spoken = {*law.growth.criteria} - left_out - {law.growth.name}
        assert spoken
        assert int(number) == round(min(law.growth.criteria[name] for name in spoken))
        assert first.split()[-1] in ("grow", law.growth.name)


def test_classes_whose_further_term_takes_no_time_are_named():
    law = fit_law(shaken(LINEAR, noise=0.02), predicted=full)
    assert law.growth.idle
    text = grows(law)
    assert text.startswith("Time grows as n, AICc ")
    assert f"less than any class but {law.growth.idle[0]}" in text
    assert text.endswith("no time that matters.")
    own = replace(law.growth, name="n·w", idle=("n + n²",), gap=60.4)
    assert grows(replace(law, growth=own)) == (
        "Time grows as n·w, AICc 60 less than any class but n + n², whose n² takes no time that "
        "matters."
    )
    flat = replace(law.growth, name="1", idle=("n·w", "n + n³"), gap=20.0)
    assert grows(replace(law, growth=flat)) == (
        "Time does not grow, AICc 20 less than any class but n·w and n + n³, whose n·w, n and n³ "
        "take no time that matters."
    )


def test_two_lengths_are_said_to_be_too_few_and_not_to_grow_alike():
    law = fit_law({64: [1e-3], 4096: [0.5]}, predicted=full)
    said = " ".join(sentences(law))
    assert "Two lengths place no crossover" in said
    assert "alike" not in said
