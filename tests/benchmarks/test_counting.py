import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch
from benchmarks.apart import Outcome, apart
from benchmarks.counters import PEERS
from benchmarks.counting_cases import CASES
from benchmarks.counting_tables import scores, side_by_side, verdict
from benchmarks.spent import Spent, spent
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import counting

# Where PyTorch's counter sees every product: attention by hand, or on tensors without numbers.
SEEN = (
    *(f"MHA {way}" for way in ("matmul", "@", "bmm", "baddbmm", "einsum", "matmul meta")),
    "single n5 d64 (@)",
    "sdpa dv!=dq (64/32)",
    "nn.MHA train",
    "MHA sdpa meta",
    "Bert eager",
    "GPT2 eager",
    "Llama GQA eager",
    "fwd+bwd matmul",
)


def test_there_are_32_cases_and_no_mask_adds_to_them():
    assert len(CASES) == 32
    assert all(0 < case.useful <= case.dense for case in CASES.values())


@pytest.mark.parametrize("name", SEEN)
def test_the_truth_is_what_torch_counts_where_it_sees_every_product(name):
    case = CASES[name]
    module, inputs = case.make()
    with case.grad(), FlopCounterMode(display=False) as counter:
        out = module(*inputs)
        if case.backward:
            out.sum().backward()
    assert case.useful == case.dense == counter.get_total_flops()


@pytest.mark.parametrize(
    ("masked", "plain"),
    [
        ("MHA sdpa causal", "MHA sdpa meta"),
        ("GPT2 sdpa", "GPT2 eager"),
        ("Llama GQA sdpa", "Llama GQA eager"),
    ],
)
def test_a_causal_mask_leaves_out_the_pairs_above_the_diagonal(masked, plain):
    # Layers, tokens, features of all heads.
    layers, n, features = (1, 512, 512) if masked.startswith("MHA") else (2, 128, 128)
    above = int(torch.ones(n, n).triu(1).sum())
    assert CASES[masked].dense == CASES[plain].dense
    assert CASES[masked].dense - CASES[masked].useful == layers * 4 * features * above


def test_the_pairs_of_windows_and_of_sequences_are_those_of_their_masks():
    module, (q, *_) = CASES["window128 dense-mask"].make()
    flops = 4 * q.shape[1] * q.shape[-1]
    for name in ("window128 dense-mask", "flex window128 eager", "flex window128 compiled"):
        assert CASES[name].useful == flops * int(module.mask.sum())
        assert CASES[name].dense == flops * module.mask.numel()
    packed, _ = CASES["NJT sdpa 128/512/256"].make()
    lengths = packed.offsets.diff()
    case = CASES["NJT sdpa 128/512/256"]
    assert case.useful == 4 * 512 * int((lengths**2).sum())
    assert case.dense == 4 * 512 * len(lengths) * int(lengths.max()) ** 2


def test_a_case_is_made_the_same_every_time_and_leaves_the_random_numbers():
    before = torch.random.get_rng_state()
    (first, (x,)), (again, (y,)) = (CASES["MHA @"].make() for _ in range(2))
    assert torch.equal(x, y)
    assert torch.equal(first.query.weight, again.query.weight)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_a_call_breaks_ends_with_its_process(capfd):
    def breaking():
        os.write(1, b"noise")
        torch.bmm = None
        return 7

    assert apart(breaking, seconds=60) == Outcome(7)
    assert torch.bmm is not None
    assert capfd.readouterr() == ("", "")


def test_a_crash_is_told_in_its_first_line_and_a_process_that_dies_is_a_crash():
    def raising():
        raise KeyError("first\nsecond")

    assert apart(raising, seconds=60).crash == r"KeyError: 'first\nsecond'"
    killed = apart(lambda: os.kill(os.getpid(), signal.SIGKILL), seconds=60)
    assert killed.crash == "the process ended without a word."
    assert apart(lambda: time.sleep(60), seconds=0.05).crash == "took more than 0.05 s."


def test_a_count_is_worth_what_it_says_of_the_truth():
    case = "MHA sdpa causal"
    truth = CASES[case]
    said = {
        truth.useful: "exact",
        truth.useful + 1: "off",
        truth.dense: "unmasked",
        0: "ZERO",
        None: "none",
    }
    assert {value: verdict(case, "peer", Outcome(value)) for value in said} == said
    assert verdict(case, "dense", Outcome(truth.dense)) == "exact"
    assert verdict(case, "dense", Outcome(truth.useful)) == "off"
    assert verdict(case, "peer", Outcome(None, "TypeError: no")) == "CRASH"


def test_tables_fit_80_columns_and_name_everybody(capsys):
    case = "MHA sdpa causal"
    said = {name: Outcome(float(CASES[case].dense)) for name in ("useful", "dense", *PEERS)}
    said["fvcore"] = Outcome(CASES[case].useful * 0.5)
    side_by_side({case: said})
    scores({case: said})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert all(words.count(name) >= 2 for name in PEERS)
    assert "1.200D" in words
    assert "0.5000" in words


@pytest.mark.parametrize(
    ("useful", "dense", "missed"),
    [
        (Outcome(1_342_701_568), Outcome(1_610_612_736), []),
        (Outcome(1_342_701_569), Outcome(1_610_612_736), ["useful"]),
        (Outcome(None), Outcome(None), ["useful", "dense"]),
        (Outcome(None, "a"), Outcome(None, "a"), ["useful", "dense", "crashes"]),
    ],
)
def test_one_flop_too_many_breaks_the_promise(useful, dense, missed):
    promises = counting.exact({"MHA sdpa causal": {"useful": useful, "dense": dense}})
    broken = [one.name for one in promises if not one.met]
    assert [word for word in ("useful", "dense", "crashes") if word in " ".join(broken)] == missed
    assert len(broken) == len(missed)


def test_a_large_model_has_ten_seconds_and_a_gibibyte():
    runs = [Spent(9.0, 2**29), Spent(12.0, 2**30), Spent(11.0, 2**30)]
    time, memory = counting.without_weights(runs)
    assert (time.figure, time.low, time.high, time.met) == (11.0, 9.0, 12.0, True)
    assert (memory.figure, memory.met) == (1.0, True)
    broken = counting.without_weights([Spent(10.1, 2**30 + 1)])
    assert [one.met for one in broken] == [False, False]


def test_a_command_is_charged_for_its_own_time_and_memory():
    held = torch.ones(1 << 26)
    large, busy = "x = b'1' * (100 << 20)", "sum(range(10_000_000))"
    plain, filled, worked = (spent(sys.executable, "-c", code) for code in ("", large, busy))
    # Not with the 256 MiB that its parent holds.
    assert plain.bytes < 64 << 20 < held.nbytes
    assert 100 << 20 < filled.bytes < 164 << 20
    assert worked.seconds > plain.seconds > 0
    with pytest.raises(RuntimeError, match="failed: no such model"):
        spent(sys.executable, "-c", "raise SystemExit('no such model')")


def test_what_is_not_there_is_named_with_what_brings_it(monkeypatch):
    absent = replace(PEERS["fvcore"], package="no_such_package")
    monkeypatch.setitem(PEERS, "fvcore", absent)
    monkeypatch.setitem(PEERS, "thop", replace(absent, beside=True))
    monkeypatch.setitem(CASES, "Bert sdpa", replace(CASES["Bert sdpa"], needs="no_such_package"))
    peers, cases = counting.missing(["MHA @", "Bert sdpa"]).items()
    assert peers[0] == "`make bench` installs them"
    assert {"fvcore", "thop"} <= {*peers[1]}
    assert not {"torch", "profiler"} & {*peers[1]}
    assert cases == ("pip install 'attncost[hf]'", ["Bert sdpa"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "MHA matmull"], "did you mean 'MHA matmul'"),
        (["--pairs", "0"], "at least 1"),
        (["--only", "llama-3-7b"], "did you mean 'llama-3-70b'"),
    ],
)
def test_a_mistaken_request_ends_with_status_2_and_one_clear_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        counting.parsed(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_run_prints_its_tables_and_keeps_its_counts(tmp_path):
    # A process of its own: forks of one in which autograd has run cannot run it again.
    path = tmp_path / "found.json"
    command = [sys.executable, "-m", "benchmarks.counting", "--quick", "--pairs", "1"]
    cases = "MHA @,MHA sdpa causal,fwd+bwd sdpa"
    ended = subprocess.run(
        [*command, "--only", cases, "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    *tables, promises = ended.stdout.split("\n\n")
    assert max(map(len, "\n".join(tables).splitlines())) <= 80
    words = [line.split(":")[0] for line in promises.splitlines()]
    # The last one is of time, which this test is not about.
    assert words[:3] == ["met"] * 3
    assert len(words) == 4
    assert ended.returncode == int("missed" in words)
    kept = json.loads(path.read_text())
    assert kept["cases"]["MHA sdpa causal"]["found"]["torch"]["is"] == "off"
    assert kept["cases"]["fwd+bwd sdpa"]["found"]["useful"]["flops"] == 4_831_838_208
    assert kept["peers"]["torch"] == torch.__version__
    assert any("unmasked" in table for table in tables)
