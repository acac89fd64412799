"""What holds of every check, whoever adds one."""

from time import perf_counter
from typing import final

import pytest
import torch
from tests.measure.doctor.told import Told, instruments
from torch import nn

from attncost.core import discovery
from attncost.measure.clocks.clock import Clock
from attncost.measure.doctor import checks
from attncost.measure.doctor.falling import FUSED, Falling
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.operations import operations
from attncost.measure.doctor.patient import Model, Patient, alike
from attncost.measure.doctor.run import run_doctor
from attncost.measure.doctor.workers import workers

SMALL = Patient(d_model=16, heads=2, head_dim=8, length=24, threads=1)
FALLING = [name for name in checks.names() if issubclass(checks.load(name), Falling)]


def switches():
    return (
        torch.get_num_threads(),
        torch.backends.mha.get_fastpath_enabled(),
        torch.backends.mkldnn.matmul.fp32_precision,
        torch.backends.cuda.matmul.fp32_precision,
        torch.get_float32_matmul_precision(),
        torch.is_grad_enabled(),
        torch.get_rng_state().tolist(),
    )


@pytest.mark.slow
def test_every_check_answers_on_a_small_layer_and_leaves_everything_as_it_was():
    before = switches()
    found = run_doctor(SMALL, instruments=Instruments(rounds=6))
    assert switches() == before
    assert {one.check for one in found} == set(checks.names())
    assert len({one.key for one in found}) == len(found)
    for one in found:
        assert one.verdict in ("costs", "fine", "cannot tell", "does not apply"), one
        assert one.reason.endswith("."), one
        assert bool(one.advice) == bool(one.undo) == (one.verdict == "costs"), one
        if one.time:
            assert one.clock
            assert one.time.low <= one.time.figure <= one.time.high


@pytest.mark.parametrize("name", FALLING)
def test_attention_falls_where_it_is_said_and_not_with_the_remedy(name):
    check = checks.check(name)
    q, k, v = (SMALL.features_of_heads() for _ in range(3))
    with torch.set_grad_enabled(check.gradients):
        falls, remedy = check.ways(q, k, v, SMALL)
        assert FUSED not in operations(falls)
        if name == "sdpa_dropout":
            return  # What is dropped differs, and attncost computes it in a way of its own.
        assert FUSED in operations(remedy)
        one, other = falls(), remedy()
    torch.testing.assert_close(one, other.reshape(one.shape), rtol=0, atol=1e-6)


def test_what_this_pytorch_fuses_does_not_apply(monkeypatch):
    monkeypatch.setattr("attncost.measure.doctor.falling.operations", lambda call: {FUSED})
    (found,) = checks.check("sdpa_strides").examine(SMALL, instruments(Told()))
    assert (found.verdict, found.time) == ("does not apply", None)


def test_a_model_is_examined_by_the_layers_that_it_holds():
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        model = nn.TransformerEncoder(layer, 3)
    patient = Patient(
        name="mine", length=24, model=Model(model, (torch.empty(1, 8, 16, device="meta"),))
    )
    (found,) = checks.check("fast_path").examine(patient, Instruments(rounds=6))
    assert found.what == "3 x nn.TransformerEncoderLayer in evaluation, 24 tokens"
    assert found.time
    (found,) = checks.check("need_weights").examine(patient, Instruments(rounds=6))
    assert found.verdict == "does not apply"
    assert found.reason == "mine asks no nn.MultiheadAttention for weights."
    assert torch.backends.mha.get_fastpath_enabled()


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.asked, self.unasked = (nn.MultiheadAttention(16, 2) for _ in range(2))

    def forward(self, x):
        return self.asked(x, x, x)[0] + self.unasked(x, x, x, need_weights=False)[0]


def test_weights_are_priced_where_a_model_asks_for_them():
    with torch.device("meta"):
        model = Model(Both(), (torch.empty(8, 1, 16),))
    patient = Patient(name="mine", length=24, model=model)
    found = checks.check("need_weights").examine(patient, Instruments(rounds=6))
    assert [one.part for one in found] == ["training", "evaluation"]
    assert all(one.what.startswith("nn.MultiheadAttention, returning") for one in found)


def test_a_model_that_cannot_be_called_or_built_is_said():
    with torch.device("meta"):
        model = Model(Both(), (torch.empty(8, 1, 15),))
    (found,) = checks.check("need_weights").examine(
        Patient(name="mine", length=24, model=model), instruments(Told())
    )
    assert found.verdict == "cannot tell"
    assert "mine" in found.reason
    unbuilt = Patient(name="mine", length=24, unbuilt="mine needs a key.")
    for name in ("fast_path", "need_weights"):
        (found,) = checks.check(name).examine(unbuilt, instruments(Told()))
        assert (found.verdict, found.reason) == ("cannot tell", "mine needs a key.")


@final
class Shared(Clock):
    """A core that others have, too: of the time that passes a part is ours."""

    name, reason, device = "shared", "the test knows the answer", "cpu"

    def __init__(self, slower):
        self.slower = slower

    def elapsed(self, call, repeats):
        start = perf_counter()
        for _ in range(repeats):
            call()
        return (perf_counter() - start) / self.slower


@pytest.mark.parametrize(("slower", "verdict"), [(1.2, "costs"), (1.02, "fine")])
def test_a_busy_machine_is_wall_time_beyond_the_time_that_one_thread_worked(slower, verdict):
    read = instruments(Shared(slower), rounds=6)
    (found,) = checks.check("busy_machine").examine(SMALL, read)
    assert (found.verdict, found.time.figure) == (verdict, pytest.approx(slower, rel=0.02))


CHECK = """
from typing import ClassVar, final

from attncost.measure.doctor.interface import Check


@final
class Coffee(Check):
    asks: ClassVar[str] = "is there coffee?"

    def answers(self, patient, instruments):
        if not patient.heads % 2:
            raise RuntimeError("the machine is empty\\nfor good")
        return (self.unasked("coffee", "does not apply", "it is tea time."),)
"""


@pytest.fixture
def coffee(tmp_path, monkeypatch):
    (tmp_path / "coffee.py").write_text(CHECK)
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(tmp_path)])
    discovery._ours.cache_clear()
    yield
    discovery._ours.cache_clear()


@pytest.mark.usefixtures("coffee")
def test_a_file_that_is_added_is_a_check():
    odd = Patient(d_model=24, heads=3, head_dim=8, length=24)
    (found,) = run_doctor(odd, only=["coffee"])
    assert (found.check, found.reason) == ("coffee", "it is tea time.")


@pytest.mark.usefixtures("coffee")
def test_a_check_that_fails_is_said_in_a_line_and_others_go_on():
    before = switches()
    found = {one.check: one for one in run_doctor(SMALL, only=["coffee", "precision"])}
    failed, went_on = found["coffee"], found["precision"]
    assert (failed.verdict, failed.reason) == ("failed", "RuntimeError: the machine is empty")
    assert went_on.time
    assert switches() == before


def test_a_process_that_ends_says_its_last_words():
    with (
        workers("nothing", SMALL, {"": {}}) as started,
        pytest.raises(NotImplementedError, match="ended: KeyError: 'nothing'"),
    ):
        started[""].ask()


def test_modules_are_alike_only_if_their_heads_are():
    layers = [nn.TransformerEncoderLayer(16, heads, 32) for heads in (2, 2, 4)]
    found = alike(nn.ModuleList(layers), nn.TransformerEncoderLayer)
    assert found == ((layers[0], layers[1]), (layers[2],))
