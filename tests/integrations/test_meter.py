"""Steps are priced by hand here: a pair costs 4 x 16 FLOPs a layer, a token what its weights do."""

import json
from dataclasses import replace
from itertools import count as counter

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attncost import BlockSizes, Causal, Configuration, Full, ShapeError, Window
from attncost.core.errors import StorageError, UnsupportedOption
from attncost.cost.conventions import flops_by_convention
from attncost.cost.counting.counted import Counted, Unpriced
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.over_length import over_length
from attncost.cost.reading import preset
from attncost.integrations.meter import Meter, Passes, waiting_clock
from attncost.integrations.metered import CONVENTIONS

LAYERS, D, F, V = 3, 16, 40, 50
TOKEN = 2 * (LAYERS * (4 * D * D + 2 * D * F) + D * V)
PAIR = LAYERS * 4 * D


CAUSAL, TRAINING = Causal(), Passes()


def configured(attention=CAUSAL):
    block = BlockSizes(d_model=D, heads=2, hidden=F)
    return replace(
        Configuration.alike("tiny", block, attention, layers=LAYERS),
        embedding=Embedding(vocabulary=V),
        head=Head(kind="logits", width=V),
    )


def ticking(*seconds):
    """Return a clock that makes each step take so long, in turn."""
    times = iter([t for each in seconds for t in (0.0, each)])
    return lambda: next(times)


def pairs(n, rule=CAUSAL):
    return int(rule.mask(n, n).sum())


def metered(cost=None, *, seconds=2.0, passes=TRAINING, peak=None, **batch):
    meter = Meter(cost or configured(), peak=peak, passes=passes, clock=ticking(seconds))
    with meter.step(**batch):
        pass
    return meter.last


@pytest.mark.parametrize("attention", [Full(), Causal(), Window(5), Window(7, ahead=3)])
def test_exact_flops_are_summed_over_the_real_sequences(attention):
    lengths = [9, 1, 30, 30, 0, 4]
    step = metered(configured(attention), lengths=lengths)
    forward = sum(TOKEN * n + PAIR * pairs(n, attention) for n in lengths)
    assert step.exact == 3 * forward
    assert step.attention == 3 * PAIR * sum(pairs(n, attention) for n in lengths)
    assert (step.tokens, step.slots) == (74, 6 * 30)
    assert step.padding == pytest.approx(1 - 74 / 180)
    assert step.attention_share == step.attention / step.exact


def test_half_and_dense_are_of_the_rows_as_they_lie_in_memory():
    step = metered(configured(Window(2)), lengths=[9, 30], width=32)
    assert step.dense == 3 * 2 * (TOKEN * 32 + PAIR * 32 * 32)
    assert step.half == 3 * 2 * (TOKEN * 32 + PAIR * 32 * 32 // 2)


def test_a_whole_sequence_costs_what_the_conventions_of_these_names_say():
    model = preset("llama-3-8b")
    found = flops_by_convention(model, 777, training=True)
    assert metered(model, lengths=[777]).flops == {name: found[name] for name in CONVENTIONS}


def test_documents_of_a_packed_row_never_read_each_other():
    listed = metered(lengths=[[5, 3], [6]], width=8)
    assert listed.exact == 3 * (TOKEN * 14 + PAIR * (15 + 6 + 21))
    assert listed.dense == 3 * 2 * (TOKEN * 8 + PAIR * 64)
    segments = torch.tensor([[4, 4, 4, 4, 4, 0, 0, 0], [-1, 1, 1, 1, 1, 1, 1, -1]])
    assert metered(segments=segments) == listed
    # The same number in another row is another document, padding hidden by a mask is none.
    mask = segments >= 0
    assert metered(segments=segments.clamp(min=0), key_mask=mask) == listed
    # One in two pieces is one document.
    assert metered(segments=torch.tensor([[2, 0, 2]])).exact == metered(lengths=[[2, 1]]).exact


@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
def test_a_mask_tells_the_lengths_wherever_padding_lies(kind):
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 0, 0, 0, 0]]).to(kind)
    assert metered(key_mask=mask) == metered(lengths=[3, 4, 0], width=5)


def test_gradients_that_are_accumulated_make_one_step():
    meter = Meter(configured(), clock=ticking(2.0))
    with meter.step([7, 2]) as step:
        step.add([4])
        step.add(key_mask=torch.ones(2, 3, dtype=torch.bool))
    apart = [metered(lengths=[7, 2]), metered(lengths=[4]), metered(lengths=[3, 3])]
    for name in ("exact", "half", "dense", "attention", "tokens", "slots"):
        assert getattr(meter.last, name) == sum(getattr(one, name) for one in apart)
    assert meter.last.seconds == 2.0


def test_rates_come_from_the_clock_and_the_peak():
    step = metered(lengths=[10, 10], seconds=4.0, peak=1e6)
    assert step.tokens_per_second == 5.0
    for name in CONVENTIONS:
        assert step.mfu[name] == pytest.approx(step.flops[name] / 4e6)
    assert step.hfu == step.mfu
    assert metered(lengths=[10]).mfu == dict.fromkeys(CONVENTIONS)


def test_causal_attention_that_is_counted_dense_passes_100_percent_and_exact_does_not():
    """Reported as pytorch/torchtitan#341 and AI-Hypercomputer/maxtext#1972."""
    n = 4096
    able = 3 * (TOKEN * n + PAIR * pairs(n))  # a device that does nothing in vain
    step = metered(lengths=[n], seconds=1.0, peak=float(able))
    assert step.mfu["exact"] == 1.0
    assert step.mfu["dense"] > 1.7
    assert step.mfu["half"] == pytest.approx(1, abs=1e-3)
    assert metered(configured(Causal()), lengths=[512]).attention == 3 * PAIR * 131_328


def test_a_window_is_not_left_out_of_the_exact_convention():
    """Reported as NVIDIA/Megatron-LM#1725 and pytorch/torchtitan#4300: MFU up to 4 x too high."""
    n, width = 4096, 512
    causal, window = (metered(configured(a), lengths=[n]) for a in (Causal(), Window(width)))
    read = sum(min(i + 1, width) for i in range(n))
    assert window.attention == 3 * PAIR * read
    assert causal.attention / window.attention > 4
    assert window.dense == causal.dense


def test_totals_are_sums_and_medians_and_leave_out_steps_to_warm_up():
    meter = Meter(configured(), peak=1e6, clock=ticking(50.0, 1.0, 2.0, 6.0))
    for n in (5, 10, 10, 40):
        with meter.step([n]):
            pass
    totals = meter.totals(warmup=1)
    last = meter.steps[1:]
    assert totals.sum.steps == 3
    assert totals.sum.step == 4
    assert totals.sum.seconds == 9.0
    assert totals.sum.exact == sum(step.exact for step in last)
    assert totals.seconds == 2.0
    assert totals.tokens_per_second == 40 / 6
    assert totals.sum.tokens_per_second == 60 / 9
    assert totals.mfu["exact"] == sorted(step.mfu["exact"] for step in last)[1]
    assert json.loads(json.dumps(totals.json()))["sum"]["tokens"] == 60
    for warmup in (4, -1):
        with pytest.raises(ShapeError, match=f"warmup must be from 0 to 3, got {warmup}"):
            meter.totals(warmup=warmup)


def test_a_file_gets_a_line_for_each_step_and_keeps_what_it_had(tmp_path):
    path = tmp_path / "steps.jsonl"
    for _ in range(2):
        meter = Meter(configured(), peak=1e6, path=path, clock=ticking(1.0, 1.0))
        for n in (3, 5):
            with meter.step([n]):
                pass
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["tokens"] for row in rows] == [3, 5, 3, 5]
    assert {row["schema"] for row in rows} == {"attncost.step/1"}
    assert rows[-1] == meter.last.json()
    assert rows[-1]["mfu"]["exact"] == meter.last.mfu["exact"]
    meter = Meter(configured(), path=tmp_path, clock=ticking(1.0))
    with pytest.raises(StorageError, match="cannot be written"), meter.step([3]):
        pass
    assert meter.last.tokens == 3


def test_a_step_that_fails_leaves_no_record():
    meter = Meter(configured(), clock=counter().__next__)
    with pytest.raises(ZeroDivisionError), meter.step([3], logits=True):
        raise ZeroDivisionError
    assert meter.steps == ()
    assert str(meter) == "no step was metered"
    with pytest.raises(UnsupportedOption, match="no step was metered: train inside"):
        _ = meter.last


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        ({}, "a step needs lengths=, key_mask=, segments= or"),
        ({"lengths": [3], "key_mask": torch.ones(1, 3).bool()}, "pass either lengths, or"),
        ({"width": 3, "key_mask": torch.ones(1, 3).bool()}, "width= goes with lengths alone"),
    ],
)
def test_batches_that_say_too_little_or_contradict_themselves_are_refused(batch, reason):
    with pytest.raises(ShapeError, match=reason):
        metered(**batch)


def test_settings_without_meaning_are_refused():
    for peak in (0, -1.0, float("nan"), float("inf"), True):
        with pytest.raises(ShapeError, match="peak must be a number of FLOP/s such as 312e12, got"):
            Meter(configured(), peak=peak)


def test_a_step_within_a_step_is_refused_and_the_next_one_is_not():
    meter = Meter(configured(), clock=counter().__next__)
    with pytest.raises(UnsupportedOption, match="a step is under way"), meter.step([3]):  # noqa: SIM117
        with meter.step([4]):
            pass
    assert meter.steps == ()
    with meter.step([6]):
        pass
    assert [step.tokens for step in meter.steps] == [6]


@pytest.mark.parametrize("seconds", [-3.0, float("nan"), float("inf")])
def test_a_clock_that_goes_back_is_refused(seconds):
    with pytest.raises(ShapeError, match=f"a step must take 0 or more seconds, got {seconds}: "):
        metered(lengths=[3], seconds=seconds)


def test_a_step_that_took_no_time_has_no_rates_and_spoils_no_median():
    meter = Meter(configured(), peak=1e6, clock=ticking(0.0, 4.0))
    with meter.step([8]):
        pass
    none = dict.fromkeys(CONVENTIONS)
    assert (meter.last.tokens_per_second, meter.last.mfu, meter.last.hfu) == (None, none, none)
    assert json.loads(json.dumps(meter.last.json()))["tokens_per_second"] is None
    assert meter.totals().tokens_per_second is None
    assert str(meter).splitlines()[-1].split()[:6] == ["sum", "8", "0", "%", "0", "s"]
    with meter.step([8]):
        pass
    assert meter.totals().tokens_per_second == 2.0


def test_it_prints_in_80_columns():
    seconds = [0.123, 1.5, 1800.0] * 4
    meter = Meter(configured(), peak=312e12, passes=Passes(again=1), clock=ticking(*seconds))
    query = torch.randn(1, 2, 3, 8)
    for at in range(12):
        with meter.step([[999_999, 12], [1]] if at % 2 else [7], logits=at > 9):
            scaled_dot_product_attention(query, 1e5 * query, query).softmax(-1)
    lines = str(meter).splitlines()
    assert max(map(len, lines)) <= 80
    head = "tiny: 12 steps, forward and backward (3 x forward), 1 x forward computed again;"
    assert lines.pop(0) == head
    head = "step tokens padding time tokens/s attn exact half dense logit"
    assert lines[1].split() == head.split()
    assert [line.split()[0] for line in lines[2:12]] == [*map(str, range(5, 13)), "median", "sum"]
    assert all(" %" in line for line in lines[2:12])
    assert lines[12].startswith("note: largest logit: 1 calls of softmax outside")


def test_it_prints_flops_where_nobody_said_a_peak():
    meter = Meter(configured(), clock=ticking(1.0))
    with meter.step([1000]):
        pass
    lines = str(meter).splitlines()
    assert lines[0].endswith("exact, half, dense: FLOPs")
    assert lines[1].split()[-1] == "dense"
    flops = 3 * (TOKEN * 1000 + PAIR * 10**6)
    assert lines[2].split()[-2:] == [f"{flops / 1e6:.0f}", "M"]


def test_the_largest_logit_is_told_where_it_is_asked_for():
    meter = Meter(configured(), clock=counter().__next__)
    eye = torch.eye(4)[None, None]
    for asked in (False, True):
        with meter.step([4], logits=asked):
            scaled_dot_product_attention(eye, 6 * eye, eye)
    assert [step.largest_logit for step in meter.steps] == [None, 3.0]
    assert meter.totals().sum.largest_logit == 3.0
    with meter.step([4], logits=True):
        (eye @ eye).softmax(-1) @ eye
    assert meter.last.largest_logit is None
    assert meter.last.notes == ("largest logit: no call of attention was seen, so none is known",)
    with meter.step([4], logits=True):
        scaled_dot_product_attention(eye, eye * torch.inf, eye)
    assert meter.last.json()["largest_logit"] is None


def test_what_a_cost_leaves_out_is_noted_with_every_step():
    unpriced = (Unpriced(module="", operation="mylib::mlp", shapes=(), calls=1),)
    bare = Counted(
        name="odd", rows=(), attention=(), unpriced=unpriced, modules={"": "Odd"}, parameters=0
    )
    step = metered(over_length(lambda n: bare, lengths=range(1, 9)), lengths=[4])
    assert step.notes == ("at least: mylib::mlp has no price",)
    assert step.json()["notes"] == list(step.notes)


def test_a_clock_that_waits_for_the_accelerator_goes_on_where_there_is_none():
    before = waiting_clock()
    assert waiting_clock() >= before
