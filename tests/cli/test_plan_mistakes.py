"""Mistaken requests to `attncost plan`: one line that says what to do, and exit status 2."""

import pytest

from attncost.cli import main


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "a plan needs --memory SIZE, such as 80GiB or H100"),
        (["--memory", " "], "--memory must be a size, such as 80GiB, or a GPU's name"),
        (["--memory", "H10"], "no device is called 'h10'; did you mean"),
        (["--memory", "lots of it"], "no device is called"),
        (["--memory", "0GiB"], "memory must be a positive size"),
        (["--memory", f"{10**400}GiB"], "memory must be a positive size up to 1 EiB"),
        (["--memory", "H100", "--price", "inf"], "--price must lie between 0 and"),
        (["--memory", "8GiB", "--length", "9" * 400], "of at most 12 digits"),
        (["--memory", "8GiB", "--price", "2"], "--price needs what a device does in a second"),
        (
            ["--memory", "H100", "--price", "-1"],
            "--price must lie between 0 and 1,073,741,824, got -1",
        ),
        (["--memory", "8GiB", "--length", "8x"], "--length must be a number of tokens"),
        (["--memory", "8GiB", "--length", "0"], "--length must be a number of tokens"),
        (["--memory", "8GiB", "--lengths", "8k,,9"], "--lengths must be a number of tokens"),
        (
            ["--memory", "8GiB", "--batch", "0"],
            "--batch must lie between 1 and 1,073,741,824, got 0",
        ),
        (["--memory", "8GiB", "--page", "0"], "page must be at least 1 token"),
        (["--memory", "8GiB", "--gpus", "0"], "--gpus must lie between 1 and 1,048,576, got 0"),
        (["--memory", "8GiB", "--gpus", "7"], "got tensor=7 for 32 heads: try 4"),
        (["--memory", "8GiB", "--share", "fsdp"], "need --gpus of at least 2"),
        (["--memory", "8GiB", "--gpus", "2", "--share", "zero3"], "no --share is called 'zero3'"),
        (["--memory", "8GiB", "--gpus", "2", "--sequence-parallel"], "add --share tensor"),
        (["--memory", "8GiB", "--for", "decoding"], "did you mean 'decode'"),
        (["--memory", "8GiB", "--kernel", "fuse"], "did you mean 'fused'"),
        (["--memory", "8GiB", "--weights", "int3"], "no precision is called 'int3'"),
        (["--memory", "8GiB", "--for", "training", "--weights", "int4"], "cannot be trained"),
        (["--memory", "8GiB", "--for", "prefill", "--checkpointing"], "add --for training"),
        (["--memory", "8GiB", "--for", "training", "--kv", "fp8"], "add --for decode"),
        (["--memory", "8GiB", "--pattern", "linformer"], "--pattern takes a pattern"),
        (["--memory", "8GiB", "--pattern", "windw:4"], "did you mean 'window'"),
        (["--memory", "8GiB", "--calibration", "none.json"], "none.json cannot be read"),
        (["--memory", "H100", "--activations", "int4"], "called 'int4'"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, capsys):
    assert main(["plan", "llama-3-8b", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["llama-3-9b"], "did you mean 'llama-3-8b'"),
        (["package.module:factory"], "there is no module 'package' here"),
        (["demo", "--length", "1024"], "positions for 512 tokens, got --length 1024"),
        (["demo", "--lengths", "64,1k"], "positions for 512 tokens, got --lengths 1k"),
        (["demo", "--for", "decode"], "keeps nothing of past tokens"),
        (["deepseek-v3", "--pattern", "window:4096"], "no layer of plain heads that could read"),
        (["mamba2-2.7b", "--pattern", "causal"], "no softmax attention that causal could"),
    ],
)
def test_a_model_that_cannot_be_planned_so_is_refused_in_one_line(arguments, reason, capsys):
    assert main(["plan", *arguments, "--memory", "80GiB"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "must hold an object, got list"),
        ("{}", "must have the schema 'attncost.calibration/1', got None"),
        (
            '{"schema": "attncost.calibration/1", "flops_per_second": true}',
            "flops_per_second of here.json must be a number, got True",
        ),
        (
            '{"schema": "attncost.calibration/1", "flops_per_second": 1e400}',
            "flops_per_second of here.json must lie between 1 and 1e+24",
        ),
    ],
)
def test_a_calibration_of_another_kind_is_refused(content, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.json").write_text(content)
    assert main(["plan", "demo", "--memory", "1GiB", "--calibration", "here.json"]) == 2
    assert reason in capsys.readouterr().err
