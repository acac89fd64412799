import numpy as np
import pytest
from tests.measure.laws.laws import MANY, D, full, medians_of, naive_bytes, pages, seconds, shaken

from attncost.measure.laws.fit import fit_medians
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.sentences import sentences

FAULT = 2e-6


def with_faults(n):
    return seconds(n) + FAULT * pages(n)


def law_of(times, *, faults=None, predicted=full, noise=0.01, lengths=MANY):
    timings = shaken({n: times(n) for n in lengths}, noise=noise)
    return fit_medians(medians_of(timings, faults=faults), predicted=predicted)


def names(law):
    return [term.name for term in law.terms]


def test_page_faults_that_take_time_become_a_term_and_explain_it():
    law = law_of(with_faults, faults=pages)
    assert names(law) == ["constant", "linear", "core", "faults"]
    fault = law.term("faults")
    assert fault.seconds.low <= FAULT <= fault.seconds.high
    share = FAULT * pages(4096) / with_faults(4096)
    assert fault.shares[-1] == pytest.approx(share, rel=0.1)
    assert fault.amounts == tuple(map(pages, MANY))
    assert law.rms < 0.02
    assert law.verdict.word == "consistent"
    without = law_of(with_faults)
    assert names(without) == ["constant", "linear", "core"]
    assert without.rms > 0.05
    # Shares are those of one time.
    assert np.sum([term.shares for term in law.terms], axis=0) == pytest.approx(np.ones(len(MANY)))


def test_page_faults_that_take_no_time_stay_in_and_nothing_is_said_of_them():
    law = law_of(seconds, faults=pages)
    assert names(law) == ["constant", "linear", "core", "faults"]
    fault = law.term("faults")
    assert fault.seconds.low == 0
    # A hundredth of the time at 4,096 tokens, by the upper end.
    assert fault.seconds.high * pages(4096) < 0.02 * seconds(4096)
    assert not fault.takes_time
    assert not any(
        "fault" in sentence.lower() for sentence in sentences(law) if "T(n)" not in sentence
    )


@pytest.mark.parametrize("most", [3000, 20_000])
def test_faults_of_a_fused_layer_leave_its_crossover_known(most):
    # None at short lengths, and some at long ones, of which nobody knows why.
    generator = np.random.default_rng(0)
    faults = {n: 0.0 if n < 512 else most * generator.uniform(0.3, 1) for n in MANY}
    law = law_of(seconds, faults=faults.__getitem__, noise=0.03)
    assert names(law)[-1] == "faults"
    assert law.crossover.high - law.crossover.low < 0.3 * law.crossover.value
    assert law.rms < 0.02
    assert law.verdict.sentence.startswith("Consistent with its FLOPs: ")


@pytest.mark.parametrize(
    "faults",
    [lambda n: 0.0, lambda n: 1.0 + n % 3, lambda n: pages(n) * (n == 4096)],
    ids=["none", "a few", "at one length"],
)
def test_page_faults_that_cannot_matter_are_not_looked_at(faults):
    law = law_of(seconds, faults=faults)
    assert names(law) == ["constant", "linear", "core"]
    assert law.alike == ()


def test_page_faults_that_grow_as_flops_are_not_told_from_them():
    law = law_of(seconds, faults=lambda n: n**2 / 64)
    assert names(law) == ["constant", "linear", "core"]
    (alike,) = law.alike
    assert alike.terms == ("faults", "linear", "core")
    assert alike.varies == "lengths"


def test_bytes_that_are_a_sum_of_the_flops_are_never_told_from_them():
    law = law_of(lambda n: seconds(n) + naive_bytes(n).bytes / 1e10, predicted=naive_bytes)
    assert names(law) == ["constant", "linear", "core"]
    (alike,) = law.alike
    assert alike.terms == ("bytes", "linear", "core")
    assert alike.varies == "heads"
    # All of their time is in the terms that they grow like.
    assert law.core_rate.value < 5e10


def test_bytes_of_their_own_growth_become_a_term_and_are_named_if_they_take_time():
    def predicted(n):
        return Predicted(linear=8 * n * D**2, core=4 * 64 * n * D, bytes=4 * n**2)

    def times(n, rate):
        flops = predicted(n)
        return 2e-4 + (flops.linear + flops.core) / 7e10 + flops.bytes / rate

    law = law_of(lambda n: times(n, 2e9), predicted=predicted)
    assert names(law) == ["constant", "flops", "bytes"]
    assert law.term("bytes").rate.value == pytest.approx(2e9, rel=0.1)
    assert law.verdict.sentence.startswith("Consistent with its FLOPs and bytes: ")
    idle = law_of(lambda n: times(n, 1e20), predicted=predicted)
    assert names(idle) == ["constant", "flops", "bytes"]
    assert not idle.term("bytes").takes_time
    assert idle.verdict.sentence.startswith("Consistent with its FLOPs: ")


def test_a_window_says_that_other_widths_would_tell_its_terms_apart():
    law = law_of(seconds, predicted=lambda n: Predicted(linear=8 * n * D**2, core=4 * 64 * n * D))
    assert [(one.terms, one.varies) for one in law.alike] == [(("core", "linear"), "width")]
    alone = law_of(seconds, predicted=lambda n: Predicted(linear=0, core=4 * n**2 * D))
    assert alone.alike == ()


@pytest.mark.parametrize(("shortest", "terms"), [((64, 256), 3), ((64, 128, 256), 4)])
def test_terms_leave_two_lengths_or_more_to_be_explained(shortest, terms):
    law = law_of(with_faults, faults=pages, lengths=(*shortest, 1024, 2048, 4096))
    assert len(law.terms) == terms


def test_bytes_that_page_faults_grow_like_are_not_told_from_them():
    def predicted(n):
        return Predicted(linear=8 * n * D**2, core=4 * 64 * n * D, bytes=4 * n**2)

    law = law_of(seconds, faults=lambda n: n**2 / 1024, predicted=predicted)
    assert names(law) == ["constant", "flops", "faults"]
    assert law.alike[-1].terms == ("bytes", "flops", "faults")


def test_a_linear_part_that_is_level_is_in_the_constant():
    def decoded(n):
        return Predicted(linear=8 * D**2, core=4 * n * D)

    law = law_of(lambda n: 1e-4 + decoded(n).core / 5e9, predicted=decoded)
    assert names(law) == ["constant", "core"]
    assert law.core_rate.value == law.linear_rate.value == pytest.approx(5e9, rel=0.05)
    assert law.crossover is None
    assert [(one.terms, one.varies) for one in law.alike] == [(("linear", "constant"), "batch")]
    assert law.growth.name == "n"
    assert law.verdict.word == "consistent"
    assert law.predict(8192) == pytest.approx(1e-4 + decoded(8192).core / 5e9, rel=0.05)
