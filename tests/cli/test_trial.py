"""`attncost plan` of what no formula describes, against the library's own runs."""

import json
import logging
import shlex

import pytest
import torch
from torch import nn

import attncost as ac
from attncost.cli import main

MIB = 1 << 20
BLOOM = {
    "model_type": "bloom",
    "architectures": ["BloomForCausalLM"],
    "hidden_size": 16,
    "n_layer": 1,
    "n_head": 2,
    "vocab_size": 50,
}
MODULES = """
import torch
from torch import nn

def net(length, batch):
    return nn.Linear(8, 64), torch.zeros(batch, length, 8)

class Learned(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(300, 8))

    def forward(self, x):
        return x + self.positions[: x.shape[1]]

def learned(length):
    return Learned(), torch.zeros(1, length, 8)

def fixed():
    return nn.Linear(8, 64), torch.zeros(1, 4, 8)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plans.py").write_text(MODULES)


def planned(*arguments, capsys, status=0):
    assert main(["plan", *arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def peak(length, batch, *, training):
    with torch.set_grad_enabled(training):
        optimizer = torch.optim.AdamW if training else None
        x = torch.zeros(batch, length, 8)
        return ac.memory(nn.Linear(8, 64), x, training=training, optimizer=optimizer).peak


@pytest.mark.parametrize("work", ["prefill", "training"])
def test_what_fits_does_and_one_more_does_not(work, capsys):
    how = ("plans:net", "--memory", "1MiB", "--for", work)
    (plan,) = planned(*how, "--batch", "3", capsys=capsys)["plans"]
    n = plan["longest"]["greatest"]
    held = [peak(size, 3, training=work == "training") for size in (n, n + 1)]
    assert held[0] <= MIB < held[1]
    assert [plan["held"]["peak"], sum(plan["longest"]["next"]["by_part"].values())] == held
    (plan,) = planned(*how, "--length", "50", capsys=capsys)["plans"]
    batch = plan["largest_batch"]["greatest"]
    fits = [peak(50, size, training=work == "training") <= MIB for size in (batch, batch + 1)]
    assert fits == [True, False]
    for size, status in ((batch, 0), (batch + 1, 1)):
        asked = (*how, "--length", "50", "--batch", str(size))
        assert planned(*asked, capsys=capsys, status=status)["plans"][0]["fits"] is not status


def test_the_command_of_a_plan_repeats_it(capsys):
    found = planned("plans:net", "--memory", "1MiB", "--optimizer", "sgd", capsys=capsys)
    assert [plan["work"] for plan in found["plans"]] == ["prefill", "training"]
    name, *again = shlex.split(found["command"])
    assert name == "attncost"
    assert planned(*again[1:], capsys=capsys) == found


def test_a_model_of_transformers_that_no_family_understands_is_run(tmp_path, capsys):
    (tmp_path / "bloom").mkdir()
    (tmp_path / "bloom" / "config.json").write_text(json.dumps(BLOOM))
    assert main(["plan", "bloom", "--memory", "1MiB", "--lengths", "64,4k"]) == 0
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if len(line) > 80] == []
    said = " ".join(out.split())
    assert "No formula was asked: no understood model_type is called 'bloom'." in said
    assert "one more does not: the" in said
    assert "Where the memory goes: training" in out
    assert not err, "no bar where there is no terminal"


def test_a_module_that_ends_by_itself_is_said_to_and_prints_no_trace(capsys, caplog):
    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addHandler(caplog.handler)
    try:
        assert main(["plan", "plans:learned", "--memory", "8MiB", "--for", "prefill"]) == 0
    finally:
        log.removeHandler(caplog.handler)
    said = "prefill: 300 tokens fit at batch 1; of one more the module says:"
    assert said in " ".join(capsys.readouterr().out.split())
    assert not caplog.records
    assert not log.disabled, "it is left as it was"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["plans:net", "--kv", "fp8"], "--kv is known to formulas alone"),
        (["plans:net", "--page", "16"], "--page is known to formulas alone"),
        (["plans:net", "--pattern", "causal"], "--pattern is known to formulas alone"),
        (["plans:net", "--kernel", "fused"], "--kernel is known to formulas alone"),
        (["plans:net", "--gpus", "2"], "--gpus is known to formulas alone"),
        (["plans:net", "--price", "2"], "--price is known to formulas alone"),
        (["plans:net", "--checkpointing"], "--checkpointing is known to formulas alone"),
        (["plans:net", "--for", "decode"], "no work is called 'decode'"),
        (["plans:net", "--optimizer", "adam"], "did you mean 'adamw'"),
        (["plans:net", "--for", "prefill", "--optimizer", "sgd"], "changes nothing in prefill"),
        (["plans:net", "--batch", "0"], "--batch must lie between 1 and"),
        (["plans:net", "--length", "x"], "--length must be a number of tokens"),
        (["plans:net", "--lengths", "4,,5"], "--lengths must be a number of tokens"),
        (["plans:fixed"], "returns inputs of its own sizes, so no length can be planned"),
        (["plans:nett"], "did you mean 'net'"),
        (["nowhere:net"], "there is no module 'nowhere' here"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, capsys):
    assert main(["plan", *arguments, "--memory", "1MiB"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line


def test_settings_that_nobody_understands_are_refused_as_they_were(tmp_path, capsys):
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "config.json").write_text('{"model_type": "strange"}')
    assert main(["plan", "strange", "--memory", "1MiB"]) == 2
    assert "no understood model_type is called 'strange'" in capsys.readouterr().err
