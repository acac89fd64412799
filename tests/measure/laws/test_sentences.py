from tests.measure.laws.laws import LENGTHS, D, article, full, samples, window

from attncost import fit_law
from attncost.measure.laws.law import Margins
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.sentences import because, sentences


def test_the_verdict_comes_first_then_the_law_then_the_crossover():
    law = fit_law(samples(noise=1e-5), predicted=full)
    verdict, equation, crossover, origin = sentences(law)
    assert verdict == law.verdict.sentence
    assert equation == "T(n) = 200 µs + linear(n) / 70.0 GFLOP/s + core(n) / 50.0 GFLOP/s"
    assert crossover.startswith("Attention takes longer than the rest from 731 [731, 731] tokens")
    assert crossover.endswith("by formula at 1,024.")
    assert origin == "Intervals are 95 %, from 9 or more samples a length."


def test_a_crossover_beyond_the_measured_lengths_is_said_to_be_so():
    law = fit_law(samples(noise=1e-5, lengths=LENGTHS[:4]), predicted=full)
    assert "outside of the measured 64 to 512" in sentences(law)[2]


def test_a_window_has_no_crossover():
    law = fit_law(samples(noise=1e-5, core_rate=7e10, predicted=window), predicted=window)
    _, equation, crossover, _ = sentences(law)
    assert equation == "T(n) = 200 µs + FLOPs(n) / 70.0 GFLOP/s"
    assert "there is no crossover" in crossover


def test_a_formula_that_never_crosses_over_says_so():
    def levels(n):
        return Predicted(linear=8 * n * D**2, core=4 * n * min(n, 512) * D)

    law = fit_law(samples(noise=1e-5, predicted=levels), predicted=levels)
    assert "By formula attention never takes longer" in sentences(law)[2]


def test_a_term_without_time_is_named():
    law = fit_law({n: [1e-3] * 6 for n in LENGTHS}, predicted=full)
    _, equation, crossover, _ = sentences(law)
    assert equation == "T(n) = 1.00 ms; linear(n) gets no time; core(n) gets no time"
    assert "no time that can be told from the rest" in crossover


def test_a_table_tells_what_its_intervals_are_and_when_there_are_none():
    assert "within 5 % and 50.0 µs of rounding of every value" in sentences(article())[-1]
    assert "There are no intervals: no law is within 5 %" in sentences(article(Margins()))[-1]
    assert "Attention takes longer than the rest from 0 tokens" in sentences(article(Margins()))[2]


def test_reasons_that_the_sentence_gives_are_not_repeated():
    assert [text.split()[0] for text in because(article())] == ["Exponents", "Within"]
    law = fit_law(samples(noise=1e-5), predicted=full)
    assert [text.split()[0] for text in because(law)] == ["From", "Exponents"]
