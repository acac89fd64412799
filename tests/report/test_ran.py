"""A plan that was run says what was found, and how surely."""

import pytest

from attncost.core.errors import ShapeError
from attncost.cost.memory.footprint import PARTS, Footprint
from attncost.report.plain import plain
from attncost.report.ran import Trial, Wanted, found, ran_document

MIB = 1 << 20


def run(length, batch):
    """A module that holds 1 KiB of each token, and no more than 3,000 of them."""
    if length > 3000:
        raise ShapeError(f"no {length} here.")
    return Footprint(
        name="Module",
        device="cpu",
        by_part=dict.fromkeys(PARTS, 0)
        | {"parameters": 5000, "activations": 1024 * length * batch},
        kept={},
        phase="forward",
        module="",
        operation="aten::mm",
        at_least=() if length < 2000 else ("aten::x may hold more.",),
    )


def document(memory=MIB, run=run, **wanted):
    one = found("prefill", run, Wanted(memory=memory, start=512, **wanted))
    trial = Trial(
        name="a:b", why="Because.", memory=memory, optimizer="sgd", works=(one,), command="c"
    )
    return ran_document(trial), one.answer(memory)


@pytest.mark.parametrize(
    ("how", "answer", "sentence"),
    [
        (
            {},
            True,
            "1,019 tokens fit at batch 1; one more does not: the activations are in the way",
        ),
        ({"batch": 4}, True, "254 tokens fit at batch 4"),
        ({"length": 100}, True, "10 sequences of 100 tokens fit; one more does not"),
        ({"length": 1000}, True, "1 sequence of 1,000 tokens fits; one more does not"),
        ({"length": 100, "batch": 10}, True, "batch 10 of 100 tokens fits: 1,005 KiB of 1.00 MiB"),
        (
            {"length": 100, "batch": 11},
            False,
            "batch 11 of 100 tokens does not fit: 1.08 MiB, there are 1.00 MiB; the activations "
            "are the largest part",
        ),
        ({"memory": 5001}, False, "not even one token fits at batch 1: 5.88 KiB, there are 4.88"),
        ({"length": 2000}, False, "not even one sequence of 2,000 tokens fits: at least 1.96 MiB"),
        ({"memory": 1 << 40}, True, "at most 3,000 tokens fit at batch 1; of one more the module"),
        ({"longest": 700}, True, "all 700 tokens that it has positions for fit at batch 1"),
    ],
)
def test_a_sentence_says_what_fits_and_what_is_in_the_way(how, answer, sentence):
    page, fits = document(**how)
    (finding,) = page.findings
    assert finding.text.startswith(f"prefill: {sentence}")
    assert fits is answer


def test_a_module_that_takes_multiples_or_no_notice_says_so():
    def blocks(length, batch):
        if length % 16:
            raise ShapeError("no.")
        return run(length, batch)

    page, _ = document(run=blocks)
    assert "1,008 tokens fit at batch 1; 16 more do not" in page.findings[0].text
    page, _ = document(run=lambda length, _: run(length, 1), length=100)
    assert "memory does not grow with the sequences" in page.findings[0].text


def test_other_lengths_are_tried_and_plain_data_has_every_byte():
    page, _ = document(lengths=(512, 2048))
    assert [section.title for section in page.sections] == [
        "Where the memory goes: prefill",
        "What if: prefill",
        "What is counted",
    ]
    (table,) = page.sections[1].blocks
    assert table.rows == (
        (512, 5000 + 512 * 1024, "yes", ""),
        (2048, 5000 + 2048 * 1024, "no", "≥"),
    )
    (plan,) = plain(page)["plans"]
    assert plan["longest"]["greatest"] == (MIB - 5000) // 1024
    assert plan["held"]["peak"] == 5000 + 1024 * plan["longest"]["greatest"]
    assert plan["tried"]["512"]["peak"] == 5000 + 512 * 1024
