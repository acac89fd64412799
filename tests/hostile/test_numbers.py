"""Numbers that no machine has: every option of a number refuses them, in every command."""

import pytest
from tests.hostile.answered import refusal
from tests.hostile.commands import NUMBERS

from attncost import cli


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "9" * 5000, "", "1_0x"])
@pytest.mark.parametrize("option", NUMBERS, ids=str)
def test_what_is_no_number_is_refused(option, value, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refusal(option.words(value), capsys)
    assert not list(tmp_path.iterdir())


def test_options_of_numbers_are_found():
    assert {"plan --price", "fit --tolerance", "count --length"} <= set(map(str, NUMBERS))
    assert len(cli.__path__) == 1


HUGE = "1" + 30 * "0"


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "llama-3-8b", "--memory", "1e500"],
        ["plan", "llama-3-8b", "--memory", "-1"],
        ["plan", "llama-3-8b", "--memory", "1GiB", "--length", HUGE],
        ["plan", "llama-3-8b", "--memory", "1GiB", "--batch", str(10**12)],
        [
            "plan",
            "llama-3-8b",
            "--memory",
            "1GiB",
            "--lengths",
            ",".join(map(str, range(1, 10**4))),
        ],
        ["plan", "llama-3-8b", "--memory", "1GiB", "--pattern", f"window:width={HUGE}"],
        ["plan", "llama-3-8b", "--memory", "1GiB", "--pattern", "strided:stride=0"],
        ["plan", f"layer:d_model={10**12}", "--memory", "1GiB"],
        ["plan", f"layer:d_model={'9' * 5000}", "--memory", "1GiB"],
        ["derive", f"window:width={'9' * 5000}"],
        ["derive", f"window:width={HUGE}"],
        ["derive", f"bigbird:random_blocks={10**9}"],
        ["derive", "linformer:rank=0"],
        ["derive", "~" * 1000 + "causal"],
        ["derive", "causal" + "&causal" * 1000],
        ["derive", "causal", "--d-model", HUGE],
        ["count", "layer:d_model=64", "--length", HUGE],
        ["count", "layer:d_model=64", "--batch", HUGE],
        ["profile", "layer:d_model=64", "--length", HUGE],
        ["doctor", "layer:d_model=64", "--length", HUGE],
        ["maps", "demo", "--length", HUGE],
        ["maps", "demo", "--heads", HUGE],
        ["measure", "--lengths", ",".join(map(str, range(1, 10**4)))],
        ["measure", "--lengths", HUGE],
        ["measure", "--lengths", "8", "--threads", HUGE],
    ],
    ids=lambda words: " ".join(words)[:70],
)
def test_a_size_that_nothing_has_is_refused(words, capsys):
    refusal(words, capsys)
