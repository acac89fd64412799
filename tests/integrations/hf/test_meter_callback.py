"""Training metered in the events of `Trainer`, which itself needs `accelerate`.

The hand-written loop below follows `Trainer._inner_training_loop` of transformers 5.24.
"""

import json
from functools import cache
from itertools import chain

import pytest
import torch
from tests.integrations.hf import zoo
from torch.utils.flop_counter import FlopCounterMode
from transformers import TrainerControl, TrainerState

from attncost import AttnCostError, Causal, Full, ShapeError, UnsupportedOption, Window
from attncost.cost.reading import read_config
from attncost.integrations.hf.meter_callback import meter_callback

PEAK = 1e9


def ticking():
    """Return a clock on which the k-th step takes k seconds."""
    times = chain.from_iterable((0.0, float(k)) for k in range(1, 99))
    return lambda: next(times)


def batch(*lengths, side="right"):
    ids = torch.full((len(lengths), max(lengths)), 5)
    real = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
    mask = (real if side == "right" else real.flip(1)).long()
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def train(callback, model, steps, *, logging_steps=1, evaluate=()):
    """Go through the events of a training run; a step is a list of batches."""
    state, control, given = TrainerState(), TrainerControl(), {"model": model}
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.0)
    model.train()
    callback.on_train_begin(None, state, control, **given)
    for batches in steps:
        callback.on_step_begin(None, state, control, **given)
        for at, inputs in enumerate(batches):
            model(**inputs).loss.backward()
            if at + 1 < len(batches):
                callback.on_substep_end(None, state, control, **given)
        optimizer.step()
        optimizer.zero_grad()
        state.global_step += 1
        callback.on_step_end(None, state, control, **given)
        if state.global_step % logging_steps == 0:
            logs = {"loss": 1.0, "learning_rate": 0.0}
            state.log_history.append({**logs, "step": state.global_step})
            callback.on_log(None, state, control, logs=logs, **given)
        model.eval()
        for inputs in evaluate:
            with torch.no_grad():
                model(**inputs)
        model.train()
    callback.on_train_end(None, state, control, **given)
    return state.log_history


def by_hand(model, lengths, rule):
    """Return the FLOPs of a training step from the sizes of the model: 3 x forward."""
    c = model.config
    size = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    wide = c.num_attention_heads * size
    weights = sum(
        p.numel()
        for name, p in model.named_parameters()
        if p.ndim == 2 and "embed" not in name and "pooler" not in name
    )
    pairs = sum(int(rule.mask(n, n).sum()) for n in lengths)
    return 3 * (2 * weights * sum(lengths) + c.num_hidden_layers * 4 * wide * pairs)


def run(callback, model, *steps, **options):
    history = train(callback, model, steps, **options)
    return callback.meter.steps, history


def llama():
    return zoo.ZOO["llama"](num_hidden_layers=1)


@cache
def cost():
    """Return what a sequence costs in it, counted once."""
    return meter_callback(llama()).meter.cost


@pytest.mark.parametrize("side", ["left", "right"])
def test_steps_are_priced_by_their_real_lengths(side):
    model = llama()
    callback = meter_callback(cost(), peak=PEAK, clock=ticking())
    steps, history = run(callback, model, [batch(20, 7, side=side)], [batch(9, side=side)])
    assert [step.exact for step in steps] == [
        by_hand(model, lengths, Causal()) for lengths in ((20, 7), (9,))
    ]
    assert [(step.tokens, step.slots) for step in steps] == [(27, 40), (9, 9)]
    for step, logged in zip(steps, history, strict=True):
        assert logged["mfu"] == step.exact / (PEAK * step.seconds)
        assert logged["mfu_half"] == step.half / (PEAK * step.seconds)
        assert logged["mfu_dense"] == step.dense / (PEAK * step.seconds)
        assert logged["tokens_per_second"] == step.tokens / step.seconds
        assert logged["attention_share"] == step.attention_share
        assert (logged["loss"], logged["step"]) == (1.0, step.step)


def test_dense_flops_are_those_that_torch_counts_while_it_trains():
    model = llama().train()
    model.set_attn_implementation("eager")
    ids = torch.full((2, 19), 5)
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids, labels=ids).loss.backward()
    callback = meter_callback(cost(), clock=ticking())
    steps, _ = run(callback, model, [{"input_ids": ids, "labels": ids}])
    assert steps[0].dense == counter.get_total_flops()


def test_micro_batches_whose_gradients_are_accumulated_make_one_step():
    model = llama()
    callback = meter_callback(cost(), clock=ticking())
    (step,), history = run(callback, model, [batch(20, 7), batch(3)])
    assert step.exact == by_hand(model, (20, 7, 3), Causal())
    assert step.slots == 43
    assert "mfu" not in history[0]
    assert history[0]["tokens_per_second"] == 30


def test_a_log_speaks_of_all_steps_since_the_last_one_and_of_no_evaluation():
    model = llama()
    callback = meter_callback(cost(), peak=PEAK, clock=ticking())
    lengths = [4, 9, 2, 7]
    steps, history = run(
        callback, model, *([batch(n)] for n in lengths), logging_steps=2, evaluate=[batch(50)]
    )
    assert [step.tokens for step in steps] == lengths
    assert [row["tokens_per_second"] for row in history] == [13 / (1 + 2), 9 / (3 + 4)]
    state = TrainerState(log_history=[{"eval_loss": 2.0}])
    callback.on_log(None, state, TrainerControl(), logs={"eval_loss": 2.0})
    assert state.log_history == [{"eval_loss": 2.0}]


@pytest.mark.parametrize("how", ["positions", "ends"])
def test_packed_documents_are_priced_one_by_one(how):
    model, lengths = llama(), (9, 4, 7)
    ids = torch.full((1, 20), 5)
    positions = torch.cat([torch.arange(n) for n in lengths])[None]
    packed = {"input_ids": ids, "labels": ids, "position_ids": positions, "use_cache": False}
    if how == "ends":
        ends = torch.tensor([0, 9, 13, 20], dtype=torch.int32)
        packed |= {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends}
    (step,), _ = run(meter_callback(cost(), clock=ticking()), model, [packed])
    assert step.exact == by_hand(model, lengths, Causal())
    assert (step.tokens, step.slots) == (20, 20)
    assert step.dense == by_hand(model, (20,), Full())


def test_a_window_is_priced_by_the_configuration_that_has_it(tmp_path):
    model = zoo.ZOO["mistral"](num_hidden_layers=1)
    with pytest.raises(ShapeError, match="Windows, blocks and positions that run out bend: use"):
        meter_callback(model)
    model.save_pretrained(tmp_path)
    callback = meter_callback(read_config(tmp_path), clock=ticking())
    (step,), _ = run(callback, model, [batch(30, 3)])
    assert step.exact == by_hand(model, (30, 3), Window(zoo.WIDTH))


@pytest.mark.parametrize("again", [0, 1])
def test_parameters_that_do_not_learn_cost_no_gradient(again):
    model = llama()
    model.requires_grad_(False)
    model.lm_head.weight.requires_grad_(True)
    callback = meter_callback(model, peak=PEAK, again=again, clock=ticking())
    (step,), _ = run(callback, model, [batch(11)])
    head = 2 * 11 * model.lm_head.weight.numel()
    forward = by_hand(model, (11,), Causal()) // 3
    # Nothing before the head has a gradient, and its input needs none.
    assert step.exact == forward + head
    # What is computed again is a whole forward pass, whatever learns.
    able = PEAK * step.seconds
    assert step.hfu["exact"] == pytest.approx((forward + head + again * forward) / able, rel=1e-12)
    assert all(parameter.device.type == "cpu" for parameter in model.parameters())


@pytest.mark.parametrize("given", ["model", "count", "configuration"])
def test_a_forward_pass_that_is_computed_again_leaves_model_flops_as_they_are(given, tmp_path):
    model = llama()
    model.save_pretrained(tmp_path)
    costs = {"model": lambda: model, "count": cost, "configuration": lambda: read_config(tmp_path)}
    callback = meter_callback(costs[given](), peak=PEAK, again=1, clock=ticking())
    (step,), _ = run(callback, model, [batch(20, 7)])
    assert step.exact == by_hand(model, (20, 7), Causal())
    assert step.hfu["exact"] == pytest.approx(step.mfu["exact"] * 4 / 3)


def test_a_model_in_which_nothing_learns_is_refused():
    with pytest.raises(ShapeError, match="needs an output with a gradient"):
        meter_callback(llama().requires_grad_(False))


def test_what_cannot_be_made_a_second_time_is_refused():
    class Adapted(type(llama())):
        def __init__(self, config, rank):
            super().__init__(config)

    with pytest.raises(ShapeError, match="Adapted cannot be made from its configuration alone"):
        meter_callback(Adapted(llama().config, 2))


def test_embeddings_in_place_of_tokens_and_a_batch_without_a_mask_are_whole():
    model = llama()
    given = {"inputs_embeds": torch.ones(2, 6, 64), "labels": torch.full((2, 6), 5)}
    (step,), _ = run(meter_callback(cost(), clock=ticking()), model, [given])
    assert (step.tokens, step.slots) == (12, 12)
    assert step.exact == by_hand(model, (6, 6), Causal())


def test_what_is_not_seen_is_noted(tmp_path):
    model = llama()
    callback = meter_callback(cost(), again=1, path=tmp_path / "steps.jsonl", clock=ticking())
    ids = torch.full((1, 6), 5)
    whole = torch.zeros(1, 1, 6, 6)
    (step,), _ = run(callback, model, [{"input_ids": ids, "labels": ids, "attention_mask": whole}])
    assert step.notes == (
        "attention_mask has no 2 axes, so exact counts every slot and every pair",
    )
    assert step.again[0] * 3 == step.exact
    assert json.loads((tmp_path / "steps.jsonl").read_text())["notes"] == list(step.notes)


def test_the_hook_is_gone_after_training_and_there_is_one_in_a_second_run():
    model = llama()
    callback = meter_callback(cost(), clock=ticking())
    before = dict(model._forward_pre_hooks)
    run(callback, model, [batch(5)])
    assert dict(model._forward_pre_hooks) == before
    callback.on_train_begin(None, TrainerState(), TrainerControl(), model=model)  # and it failed
    assert len(run(callback, model, [batch(6)])[0]) == 2
    assert callback.meter.last.tokens == 6
    assert dict(model._forward_pre_hooks) == before


def test_batches_and_models_without_tokens_are_refused():
    with pytest.raises(UnsupportedOption, match=r"T5ForCond.* is no model of transformers that re"):
        meter_callback(zoo.ZOO["t5"]())
    with pytest.raises(UnsupportedOption, match="Linear is no model of transformers"):
        meter_callback(torch.nn.Linear(2, 2))
    with pytest.raises(AttnCostError):
        meter_callback(zoo.ZOO["vit"]())
    model = llama()
    callback = meter_callback(cost())
    callback.on_train_begin(None, TrainerState(), TrainerControl(), model=model)
    callback.on_step_begin(None, TrainerState(), TrainerControl(), model=model)
    with pytest.raises(UnsupportedOption, match="must have input_ids or inputs_embeds"):
        model.train()(pixels=torch.ones(1))
    callback.on_train_end(None, TrainerState(), TrainerControl())
