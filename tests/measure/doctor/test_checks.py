"""What holds of every check, whoever adds one."""

from time import perf_counter
from typing import final

import pytest
import torch
from tests.measure.doctor.told import Told, instruments
from torch import nn

from attncost.core import discovery
from attncost.measure.clocks.interface import Clock
from attncost.measure.clocks.threads import threads as timed_on
from attncost.measure.doctor import checks
from attncost.measure.doctor.falling import FUSED, Falling, sdpa
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Advice
from attncost.measure.doctor.operations import operations
from attncost.measure.doctor.patient import Model, Patient, alike
from attncost.measure.doctor.run import run_doctor

SMALL = Patient(d_model=16, heads=2, head_dim=8, length=24, threads=1)
# Each set of variables is a process that imports PyTorch.
FEWER = {"allocator": {"environments": ({"MALLOC_ARENA_MAX": "1"},)}}
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


@pytest.mark.parametrize("name", checks.names())
def test_every_check_answers_on_a_small_layer_and_leaves_everything_as_it_was(name):
    before = switches()
    with timed_on(1):
        found = checks.check(name, **FEWER.get(name, {})).examine(SMALL, Instruments(rounds=6))
    assert switches() == before
    assert found
    assert {one.check for one in found} == {name}
    if name == "allocator":
        # Where blocks are small no page is mapped anew, whatever noise says of the times.
        assert [(one.verdict, "none to save" in one.reason) for one in found] == [("fine", True)]
    assert len({one.key for one in found}) == len(found)
    for one in found:
        assert one.verdict in ("costs", "fine", "cannot tell", "does not apply"), one
        assert one.reason.endswith("."), one
        assert bool(one.advice) == bool(one.undo) == (one.verdict == "costs"), one
        if one.time:
            assert one.clock
            assert one.time.low <= one.time.figure <= one.time.high


def test_the_allocator_is_tried_in_several_ways_and_no_two_alike():
    tried = checks.check("allocator").environments
    assert len(tried) >= 4
    assert len({tuple(sorted(one.items())) for one in tried}) == len(tried)


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


@final
class Fused(Falling):
    """A way of calling it that PyTorch fuses."""

    asks, what, because, do, undo = "is it fused?", "its usual inputs", "it is not.", "", ""

    def ways(self, q, k, v, patient):
        return (lambda: sdpa(q, k, v), lambda: sdpa(q, k, v))


def test_what_this_pytorch_fuses_does_not_apply():
    (found,) = Fused().examine(SMALL, instruments(Told()))
    assert (found.verdict, found.time) == ("does not apply", None)


@final
class Unlike(Clock):
    """Each thread more costs a second; it sees how many there are before and after a call."""

    name, reason, device = "wall time", "the test knows the answer", "cpu"

    def __init__(self):
        self.seen = set()

    def elapsed(self, call, repeats):
        before = torch.get_num_threads()
        call()
        self.seen.add((before, torch.get_num_threads()))
        return float(before * repeats)


def test_threads_are_set_before_the_clock_looks_and_the_best_number_is_advised():
    clock = Unlike()
    patient = Patient(d_model=16, heads=2, head_dim=8, length=24, threads=3)
    (found,) = checks.check("threads").examine(patient, instruments(Told(), wall=clock))
    assert {(1, 1), (3, 3)} <= clock.seen
    assert all(before == after for before, after in clock.seen)
    assert (found.verdict, found.time.figure, found.clock) == ("costs", 3.0, "wall time")
    assert (found.advice, found.undo) == ("torch.set_num_threads(1)", "torch.set_num_threads(3)")
    assert "Wall time by threads, at a first look: 1: 1.00 s; " in found.reason
    assert torch.get_num_threads() == 1


def test_advice_for_memory_says_that_it_costs_time():
    clock = Told()
    block = 1 << 22

    def memory(call):
        return block if call is now else 0

    now, then = clock.call(1.0), clock.call(2.0)
    found = instruments(clock, memory=memory).compare(now, then)
    advice = Advice(do="do()", undo="undo()", because="it keeps all.")
    said = checks.check("fast_path").judged("a layer", found, advice)
    assert (said.verdict, said.advice) == ("costs", "do()")
    assert said.reason == "it keeps all. Advised for memory alone: it takes 2.00 x the time."


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


def test_modules_are_alike_only_if_their_heads_are():
    layers = [nn.TransformerEncoderLayer(16, heads, 32) for heads in (2, 2, 4)]
    found = alike(nn.ModuleList(layers), nn.TransformerEncoderLayer)
    assert found == ((layers[0], layers[1]), (layers[2],))
