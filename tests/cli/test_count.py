import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attncost.cli import main
from attncost.core.units import show

LAYER = "layer:d_model=16,heads=2"
TINY = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 50,
    "max_position_embeddings": 64,
}


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Write small models into folders of the current one."""
    monkeypatch.chdir(tmp_path)

    def write(**differences):
        for name, settings in differences.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "config.json").write_text(json.dumps(TINY | settings))

    return write


def counted(*arguments, capsys):
    assert main(["count", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_shows_totals_steps_modules_and_conventions_on_80_columns(models, capsys):
    models(a={})
    assert main(["count", "a", "--length", "32"]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    for part in ("a (LlamaForCausalLM): one sequence of 32 tokens, forward", "attention's"):
        assert part in printed
    for title in ("By step", "By module", "In other conventions"):
        assert f"\n{title}\n" in printed
    # Three layers take one line, and lie below the model.
    assert "  layers.0-2 " in printed
    assert "kaplan" in printed


def test_json_keeps_every_digit_and_parts_make_the_whole(models, capsys):
    models(a={})
    found = counted("a", "--length", "32", "--batch", "2", capsys=capsys)
    assert found["schema"] == "attncost.count/1"
    assert found["command"] == "attncost count a --length 32 --batch 2"
    (model,) = found["models"]
    # Per token: 4 projections of 32 x 32, 3 matrices of 32 x 64, in 3 layers, and 50 logits.
    products = 2 * 2 * 32 * (3 * (4 * 32 * 32 + 3 * 32 * 64) + 32 * 50)
    pairs = 2 * 3 * 4 * 32 * 33 // 2
    assert model["dense"] == products + 2 * 3 * 4 * 32 * 32 * 4 * 8
    assert model["useful"] == products + pairs * 4 * 8
    assert model["useful"] == sum(step["useful"] for step in model["steps"])
    assert model["useful"] == sum((one["own"] or {}).get("useful", 0) for one in model["modules"])
    assert model["useful"] == model["modules"][0]["useful"]
    assert model["conventions"]["exact"] == model["useful"]
    assert model["kv_bytes_per_token"] == 2 * 3 * 32 * 2
    assert model["at_least"] is False


def test_training_counts_the_backward_pass_too(models, capsys):
    models(a={})
    forward, trained = (
        counted("a", "--length", "16", *flags, capsys=capsys)["models"][0]
        for flags in ([], ["--training"])
    )
    assert trained["dense"] == 3 * forward["dense"]
    assert trained["phases"]["forward"]["dense"] == forward["dense"]


def test_depth_hides_what_lies_deeper(models, capsys):
    models(a={})
    assert main(["count", "a", "--depth", "1"]) == 0
    printed = capsys.readouterr().out
    assert "lm_head" in printed
    assert "layers" not in printed


def test_a_speed_from_a_log_says_its_mfu_and_what_a_claim_means(models, capsys):
    models(a={})
    speed = ["--tokens-per-second", "10000", "--peak", "989T", "--length", "32"]
    found = counted("a", *speed, capsys=capsys)
    (model,) = found["models"]
    assert model["training"], "logs are those of training"
    share = found["findings"][0]["values"]["shares"]["6N"]
    assert share == pytest.approx(6 * model["parameters"] * 10000 / 989e12)
    claim = f"{100 * share:.9f}%"
    assert main(["count", "a", *speed, "--claimed", claim]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("  MFU "), "before all totals"
    printed = " ".join(" ".join(lines).split())
    assert "dense: 10,000 tokens/s, peak 989 TFLOP/s" in printed
    said = f"the claimed {claim} is the MFU by"
    assert "6N" in printed.partition(said)[2].partition("useful")[0]


def test_a_forward_speed_is_set_against_what_was_counted(models, capsys):
    models(a={})
    speed = ["--tokens-per-second", "10000", "--peak", "989T", "--length", "32"]
    found = counted("a", *speed, "--forward", capsys=capsys)
    (model,), (said, *_) = found["models"], found["findings"]
    assert (model["training"], said["values"]["training"]) == (False, False)
    share = model["useful"] / 32 * 10000 / 989e12
    assert said["values"]["shares"]["exact"] == pytest.approx(share)
    assert "10,000 tokens/s forward" in said["text"]
    again = {"narayanan", "korthikanti-hardware"}
    assert not again & model["conventions"].keys(), "nothing is computed again"
    trained = counted("a", *speed, capsys=capsys)
    assert again <= trained["models"][0]["conventions"].keys()
    assert trained["findings"][0]["values"]["training"]
    shares = trained["findings"][0]["values"]["shares"]
    assert shares["exact"] == pytest.approx(3 * share)


def test_a_claim_that_no_convention_yields_is_said_to_be_none(capsys):
    speed = ["--tokens-per-second", "10", "--peak", "1e12", "--length", "16", "--forward"]
    assert main(["count", LAYER, *speed, "--claimed", "99%"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "no convention yields the claimed 99%; the nearest are" in printed


def test_two_models_differ_in_modules_that_are_named(models, capsys):
    models(a={}, b={"num_hidden_layers": 4, "intermediate_size": 96})
    assert main(["count", "a", "b", "--length", "16"]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    words = " ".join(printed.split())
    told = {row[0]: row[1:] for row in tables(printed_as_json(capsys))["What differs"] if row[0]}
    # 16 tokens: projections and feed-forward 32 wide, 136 pairs in 4 heads of 8.
    flops = 2 * 16 * (4 * 32 * 32 + 3 * 32 * 96) + 4 * 32 * 136
    assert told["layers.3 in model, 13 modules"] == ["useful", "absent", show(flops, "flops"), None]
    # One line for neighbours that are alike, in all layers.
    (feed_forward,) = (name for name in told if "up_proj" in name and "down_proj" in name)
    assert feed_forward.endswith(" in mlp in layers.0-2 in model, 9 alike")
    assert told[feed_forward] == ["useful", "65.5 kFLOPs", "98.3 kFLOPs", 1.5]
    assert "self_attn" not in words.partition("What differs")[2]
    assert "By useful FLOPs a is cheaper at every length from 2 to 32,768 tokens." in words


def printed_as_json(capsys):
    return counted("a", "b", "--length", "16", capsys=capsys)


def tables(found):
    return {table["title"]: table["rows"] for table in found["tables"]}


def test_a_window_is_compared_at_every_length_with_what_has_none(models, capsys):
    window = {"model_type": "mistral", "architectures": ["MistralForCausalLM"]}
    sizes = {"sliding_window": 16, "intermediate_size": 128, "num_key_value_heads": 4}
    models(wide={"intermediate_size": 96}, short=window | sizes)
    found = counted("wide", "short", "--length", "16", capsys=capsys)["over_length"]

    def useful(n, hidden, pairs):
        return 2 * n * (3 * (4 * 32 * 32 + 3 * 32 * hidden) + 50 * 32) + 3 * 4 * 32 * pairs

    def within(n):
        return sum(min(i, 16) for i in range(1, n + 1))

    first = [
        n for n in range(2, 400) if useful(n, 96, n * (n + 1) // 2) < useful(n, 128, within(n))
    ]
    assert 16 < first[-1] < 399
    assert found["useful"][0] == {"start": 2, "cheaper": "first"}
    assert found["useful"][-1]["cheaper"] == "second"
    assert found["useful"][1]["start"] == first[-1] + 1
    assert (found["every"], found["longest"]) == (True, 32768)


def test_two_models_of_one_kind_change_places_where_the_formula_says(models, capsys):
    # Layers that are more and narrower: attention is dearer, all else cheaper.
    models(wide={"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 128}, deep={})
    found = counted("wide", "deep", "--length", "16", capsys=capsys)["over_length"]

    def dense(n, d, hidden, layers):
        return 2 * n * (layers * (4 * d * d + 3 * d * hidden) + 50 * d) + layers * 4 * n * n * d

    second = [n for n in range(2, 32769) if dense(n, 32, 64, 3) < dense(n, 64, 128, 1)]
    assert found["dense"] == [
        {"start": 2, "cheaper": "second"},
        {"start": second[-1] + 1, "cheaper": "neither"},
        {"start": second[-1] + 2, "cheaper": "first"},
    ]
    assert found["every"] is True


def test_equal_models_differ_in_nothing(models, capsys):
    models(a={}, b={})
    found = counted("a", "b", capsys=capsys)
    assert found["differences"] == []
    assert {one["cheaper"] for one in found["over_length"]["useful"]} == {"neither"}


def test_what_has_no_price_makes_the_total_at_least(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hides_a_product.py").write_text(
        "import torch\n"
        "from torch import nn\n"
        "@torch.library.custom_op('count_cli_tests::hidden', mutates_args=())\n"
        "def hidden(x: torch.Tensor) -> torch.Tensor:\n    return x @ x\n"
        "@hidden.register_fake\n"
        "def _(x):\n    return torch.empty_like(x)\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x):\n        return hidden(x)\n"
        "def make():\n    return Model(), torch.zeros(4, 4)\n"
    )
    assert main(["count", "hides_a_product:make"]) == 0
    printed = capsys.readouterr().out
    assert "at least" in printed
    assert "count_cli_tests::hidden" in printed
    assert "(4, 4)" in printed


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["dmo"], "did you mean 'demo'"),
        ([LAYER, "--length", "0"], "length must be at least 1, got 0"),
        ([LAYER, "--batch", "0"], "batch must be at least 1, got 0"),
        ([LAYER, "--depth", "0"], "--depth must be at least 1, got 0"),
        ([LAYER, "--peak", "3T"], "--peak says nothing without --tokens-per-second"),
        ([LAYER, "--tokens-per-second", "3"], "says nothing without --peak"),
        ([LAYER, "--claimed", "3%"], "belong to --tokens-per-second"),
        (
            [LAYER, "--tokens-per-second", "3", "--peak", "x"],
            "--peak must be a number such as 312T",
        ),
        ([LAYER, "--tokens-per-second", "-3", "--peak", "3"], "must be a positive number"),
        ([LAYER, "demo", "--tokens-per-second", "3", "--peak", "3"], "leave OTHER out"),
        (
            [LAYER, "--tokens-per-second", "3", "--peak", "3", "--claimed", "460%"],
            "--claimed must be a share such as 46.2% or 0.462, got '460%'",
        ),
        (["demo", "--length", "513"], "has positions for 512 tokens, got a length of 513"),
        (["json:dumps"], "json:dumps needs obj"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, capsys):
    assert main(["count", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line


def test_help_shows_an_example_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom attncost.cli import main\n"
        "for name in ('count', 'check'):\n    main([name, '--help'])\n"
        "heavy = {'torch', 'numpy', 'scipy', 'sympy', 'transformers'} & set(sys.modules)\n"
        "raise SystemExit(f'loaded {heavy}' if heavy else 0)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert finished.returncode == 0, finished.stderr
    words = " ".join(finished.stdout.split())
    assert "attncost count llama-3-8b" in words
    assert "attncost check package.model:make --write" in words


PAGE = Path(__file__).parents[2] / "docs" / "counting.md"
EXAMPLES = re.findall(
    r"^```sh\n(attncost count [^\n]*)\n```\n[^`]*^```text\n(.*?)^```$",
    PAGE.read_text(),
    re.MULTILINE | re.DOTALL,
)


def test_the_page_has_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("line", "shown"), EXAMPLES)
def test_a_command_in_the_page_prints_what_the_page_shows(line, shown, capsys):
    assert main(shlex.split(line)[1:]) == 0
    assert " ".join(shown.split()) in " ".join(capsys.readouterr().out.split())
