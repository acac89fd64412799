import pytest
from tests.measure.laws.laws import MANY, D, full, medians_of, naive_bytes, pages, samples, window

from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.separable import kept
from attncost.measure.laws.terms import Terms
from attncost.measure.laws.words import FURTHER, WORDS, listed


@pytest.mark.parametrize(
    "predicted",
    [full, window, naive_bytes, lambda n: Predicted(linear=8 * D**2, core=n, bytes=n**2)],
)
def test_every_term_of_a_law_has_its_words_and_those_alike_their_runs(predicted):
    medians = medians_of(samples(lengths=MANY), faults=pages)
    terms, alike = kept(Terms.of(MANY, predicted), medians)
    for name in terms.names:
        words = WORDS[name]
        assert words.short
        assert words.begins[0].isupper()
        assert words.counts
        assert words.letters.endswith("(n)") or name == "constant"
    for one in alike:
        assert one.varies in ("heads", "width", "lengths", "batch")
        assert "measure" in one.runs
    assert {name for name, _ in terms.further} <= {*FURTHER}


def test_names_are_written_one_after_the_other():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"], last="or") == "a, b or c"
