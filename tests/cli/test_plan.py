"""`attncost plan`, against sums written out by hand."""

import json
import shlex

import pytest

from attncost.cli import main

GIB = 1 << 30
SERVED = ("--for", "decode", "--kernel", "fused")
TINY = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 50,
}


@pytest.fixture
def planned(capsys):
    """Return a plan as JSON, checked to end with a status."""

    def run(*arguments, status=0):
        assert main(["plan", *arguments, "--json"]) == status
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def folder(tmp_path):
    """Write the settings of a model into a folder."""

    def write(name="model", **settings):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(TINY | settings))
        return str(tmp_path / name)

    return write


def longest(found):
    (plan,) = found["plans"]
    return plan["longest"]["greatest"]


def by_part(parts):
    return {part["part"]: part["bytes"] for part in parts}


def rows(found, title):
    (table,) = (table for table in found["tables"] if table["title"].startswith(title))
    return table["rows"]


def test_the_longest_is_what_is_left_over_for_keys_and_values(planned):
    (plan,) = planned("llama-3-8b", "--memory", "80GiB", *SERVED)["plans"]
    parts = by_part(plan["longest"]["parts"])
    assert parts["weights"] == 2 * 8_030_261_248
    left = 80 * GIB - parts["weights"] - parts["activations"] - parts["logits"]
    assert plan["longest"]["greatest"] == left // (2 * 32 * 8 * 128 * 2)
    assert plan["longest"]["limit"] == "cache"


@pytest.mark.parametrize("work", ["prefill", "decode"])
def test_what_fits_does_and_one_more_token_does_not(work, planned, capsys):
    how = ["llama-3-8b", "--memory", "24GiB", "--for", work]
    found = planned(*how, "--batch", "2", "--kernel", "naive")
    (plan,), n = found["plans"], longest(found)
    assert sum(by_part(plan["longest"]["parts"]).values()) <= 24 * GIB
    assert sum(by_part(plan["longest"]["next"]).values()) > 24 * GIB
    for length, status in ((n, 0), (n + 1, 1)):
        asked = ["plan", *how, "--batch", "2", "--kernel", "naive", "--length", str(length)]
        assert main(asked) == status
        said = "fits (naive)" if status == 0 else "does not fit (naive)"
        assert f"{work}: batch 2 of {length:,} tokens {said}" in capsys.readouterr().out


def test_more_memory_fits_more_and_narrower_keys_fit_twice_as_many(planned):
    sizes = [longest(planned("llama-3-8b", "--memory", f"{m}GiB", *SERVED)) for m in (24, 40, 80)]
    assert sizes == sorted(set(sizes))
    narrow = longest(planned("llama-3-8b", "--memory", "80GiB", *SERVED, "--kv", "fp8"))
    assert narrow // 2 == sizes[-1], "llama-3-8b keeps 65,536 bytes a token in 8 bits"


def test_keys_and_values_are_those_of_the_heads_that_settings_name(planned, folder):
    qwen = folder(
        model_type="qwen3",
        hidden_size=1024,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        num_hidden_layers=28,
        intermediate_size=3072,
        vocab_size=151_936,
        tie_word_embeddings=True,
    )
    assert planned(qwen, "--memory", "8GiB")["kv_bytes_per_token_16bit"] == 114_688
    llama = planned("llama-2-7b", "--memory", "80GiB")
    assert llama["kv_bytes_per_token_16bit"] == 524_288


def test_experts_change_the_weights_and_not_the_cache(planned, folder):
    few, many = (
        planned(
            folder(
                f"of{experts}",
                model_type="mixtral",
                num_local_experts=experts,
                num_experts_per_tok=2,
                num_key_value_heads=2,
            ),
            *("--memory", "1GiB", "--length", "4k", "--batch", "1"),
            *SERVED,
        )
        for experts in (4, 8)
    )
    less, more = (
        {row[0]: row[1] for row in rows(found, "Memory of one device")} for found in (few, many)
    )
    assert less["cache"] == more["cache"] == 3 * 2 * 2 * 8 * 4096 * 2
    # Four more experts of three matrices in each layer, and a row of the router for each.
    assert more["weights"] - less["weights"] == 2 * 3 * 4 * (3 * 32 * 64 + 32)


def test_equations_and_parts_make_the_whole(planned):
    found = planned("llama-3-8b", "--memory", "80GiB", "--for", "training", "--gpus", "8")
    *parts, whole = rows(found, "Memory of one device")
    assert whole[1] == sum(row[1] for row in parts) <= 80 * GIB
    assert sum(row[2] for row in parts) == pytest.approx(1)
    equations = dict(rows(found, "How the parts"))
    assert list(equations) == [row[0] for row in parts]
    eighth = -(-8_030_261_248 // 8)
    assert equations["weights"] == f"{eighth:,} of 8,030,261,248 parameters · 2 B"
    assert {row[0]: row[1] for row in parts}["optimizer"] == eighth * 3 * 4


def test_tensor_parallel_serves_and_fsdp_trains_unless_told_otherwise(planned):
    how = ["llama-3-8b", "--memory", "80GiB", "--gpus", "4", "--kernel", "fused"]
    shards = {plan["work"]: plan["sharding"] for plan in planned(*how)["plans"]}
    assert shards["decode"] == {"tensor": 4, "data": 1, "zero": 0, "sequence": False}
    assert shards["training"] == {"tensor": 1, "data": 4, "zero": 3, "sequence": False}
    both = planned(*how, "--share", "tensor", "--sequence-parallel")["plans"]
    assert all(plan["sharding"]["tensor"] == 4 and plan["sharding"]["sequence"] for plan in both)


def test_a_price_is_that_of_the_seconds_that_memory_or_arithmetic_takes(planned):
    found = planned(
        *("llama-3-8b", "--memory", "H100", *SERVED),
        *("--length", "8k", "--batch", "4", "--price", "2.50"),
    )
    ((length, seconds, speed, price, equation),) = rows(found, "Speed of decode")
    # The table of tokens is looked up, not read.
    moved = 2 * (8_030_261_248 - 128_256 * 4096) + 4 * 8192 * 131_072
    assert equation == f"{moved:,} B / 3.35e+12 B/s"
    assert (length, seconds) == (8192, pytest.approx(moved / 3.35e12))
    assert speed == pytest.approx(4 / seconds)
    assert price == pytest.approx(2.50 / 3600 * 1e6 / speed)


def test_a_calibration_takes_the_place_of_peaks(planned, tmp_path, capsys):
    rates = {"flops_per_second": 1e14, "bytes_per_second": 1e12}
    file = tmp_path / "here.json"
    file.write_text(json.dumps({"schema": "attncost.calibration/1", **rates}))
    how = ["llama-3-8b", "--memory", "H100", *SERVED, "--calibration", str(file)]
    ((_, seconds, *_),) = rows(planned(*how, "--length", "1", "--batch", "1"), "Speed of decode")
    read = 8_030_261_248 - 128_256 * 4096
    assert seconds == pytest.approx((2 * read + 131_072) / 1e12)
    assert main(["plan", *how]) == 0
    printed = capsys.readouterr().out
    assert "≥" not in printed
    assert "here.json, which was measured: estimates, not bounds" in " ".join(printed.split())


def test_a_pattern_and_its_short_form_are_one_and_windows_bound_the_cache(planned):
    how = ["llama-3-8b", "--memory", "80GiB", *SERVED, "--lengths", "8k,128k"]
    short, long = (
        planned(*how, "--pattern", pattern) for pattern in ("window:4096", "window:width=4096")
    )
    assert short["plans"] == long["plans"]
    assert [plan["longest"]["greatest"] is None for plan in short["plans"]] == [False, True]
    window = rows(short, "What if: llama-3-8b, decode, window:width=4096")
    assert [row[3] for row in window] == [4096 * 131_072] * 2
    causal = rows(short, "What if: llama-3-8b, decode, causal")
    assert [row[3] for row in causal] == [8192 * 131_072, 131_072 * 131_072]


def test_the_command_of_a_plan_repeats_it(planned):
    how = ["llama-3-8b", "--memory", "80GiB", "--for", "prefill", "--for", "decode"]
    found = planned(*how, "--pattern", "window:512", "--kv", "fp8", "--gpus", "2", "--page", "16")
    name, *again = shlex.split(found["command"])
    assert name == "attncost"
    assert planned(*again[1:]) == found


@pytest.mark.parametrize(
    "arguments",
    [
        ["llama-3-8b", "--memory", "H100", "--lengths", "8k,128k", "--price", "2.5"],
        ["gemma-3-27b", "--memory", "80GiB", "--pattern", "longformer", "--lengths", "8k"],
        ["gpt-oss-20b", "--memory", "H200", "--weights", "mxfp4", "--pattern", "window:128"],
        ["demo", "--memory", "1GiB"],
        ["layer:d_model=512,heads=8", "--memory", "1GiB", "--gpus", "8"],
    ],
)
def test_everything_is_read_on_80_columns_and_nothing_is_cut_off(arguments, capsys):
    assert main(["plan", *arguments]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    assert "…" not in printed


def test_a_model_that_does_not_fit_is_told_what_would_help(capsys):
    assert main(["plan", "llama-3-8b", "--memory", "8GiB", *SERVED]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "decode: not even one token fits (fused): 15.0 GiB, there are 8.00 GiB" in said
    assert "the weights are the largest part. 2 such devices hold it (tensor)" in said
    assert "one device holds it with weights in fp8" in said
    assert main(["plan", "llama-3-8b", "--memory", "8GiB", *SERVED, "--weights", "fp8"]) == 0
    assert main(["plan", "llama-3-8b", "--memory", "8GiB", *SERVED, "--gpus", "2"]) == 0


def test_the_answer_is_that_of_the_works_that_were_named(capsys):
    how = ["plan", "llama-3-8b", "--memory", "80GiB"]
    assert main(how) == 0, "it can be served"
    assert main([*how, "--for", "training"]) == 1
    assert main([*how, "--for", "decode", "--for", "training"]) == 1
    assert "15.0 GiB" in capsys.readouterr().out


def test_positions_end_a_sequence_before_memory_does(planned, capsys):
    (plan,) = planned("demo", "--memory", "80GiB", "--for", "prefill", "--kernel", "fused")["plans"]
    assert (plan["longest"]["greatest"], plan["longest"]["limit"]) == (512, "positions")
    assert main(["plan", "demo", "--memory", "1GiB"]) == 0
    assert "all 512 tokens that it has positions for fit" in capsys.readouterr().out
