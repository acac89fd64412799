"""Meter the training of a `Trainer`: FLOPs of every step from its real lengths, MFU in its log.

A callback is not shown the batch. So a hook on the model reads the mask, positions or ends of
documents of every micro-batch on their way in, and is taken away when training ends. A step is
timed from its first forward pass to after the optimizer; loading data is left out.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attncost.batches.rows import Rows, rows_of, whole
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.cost.counting.count import count
from attncost.cost.counting.counted import Counted
from attncost.cost.interface import SequenceCost
from attncost.cost.over_length import OverLength, over_length
from attncost.integrations.architecture import bare
from attncost.integrations.hf.register import interfaces
from attncost.integrations.hf.telling import telling
from attncost.integrations.meter import Meter, Passes, Step
from attncost.integrations.metered import Metered, Totals
from attncost.integrations.theirs import explained

if TYPE_CHECKING:
    from transformers import TrainerCallback

_SHORT: Final = (1, 2, 3, 5, 64)
_LONGEST: Final = 16384
_AS_READ: Final = "attention_mask has no 2 axes, so exact counts every slot and every pair"


def meter_callback(
    model: nn.Module | SequenceCost,
    *,
    peak: float | None = None,
    again: float = 0.0,
    path: str | Path | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> "TrainerCallback":
    """Return a callback for `Trainer(callbacks=[...])`, which logs how well a device is used.

    With every log come `mfu`, `mfu_half`, `mfu_dense` (with a peak), `tokens_per_second` and
    `attention_share` of the steps since the last one; `callback.meter` has every step. In several
    processes each meters its own batches.

    Args:
        model: A model of transformers, which is counted on the meta device, forward and backward,
            so that parameters which do not learn cost no gradient; or what one sequence costs, as
            `read_config` or `over_length` returns it.
        peak: FLOP/s of the device that computes the batches of this process.
        again: Forward passes computed once more for the backward pass: 1 if every layer is
            checkpointed.
        path: A file that gets one line of JSON for each step.
        clock: Returns seconds; `attncost.integrations.meter.waiting_clock` waits for a GPU.

    Raises:
        AttnCostError: If transformers is not there, or too old.
        ShapeError: If the model cannot be made a second time, nothing in it learns, or its cost
            bends at some length.
        UnsupportedOption: If it reads two sequences, as an encoder-decoder does.
    """
    interfaces()
    from transformers import TrainerCallback  # noqa: PLC0415 -- optional

    cost = _counted(model) if isinstance(model, nn.Module) else model
    run = _Run(Meter(cost, peak=peak, passes=Passes(again=again), path=path, clock=clock))

    class MeterCallback(TrainerCallback):
        """Meters every step of training."""

        meter = run.meter

        def on_train_begin(self, *_: object, **given: Any) -> None:  # noqa: ANN401 -- theirs
            run.begin(given["model"])

        def on_step_begin(self, *_: object, **__: object) -> None:
            run.step_begin()

        def on_step_end(self, *_: object, **__: object) -> None:
            run.step_end()

        def on_log(
            self,
            args: object,
            state: Any,  # noqa: ANN401 -- theirs
            control: object,
            logs: dict[str, Any] | None = None,
            **_: object,
        ) -> None:
            found = run.since_last() if logs is not None and "loss" in logs else {}
            if found and logs is not None:
                # The history has its own copy by now; callbacks after this one get `logs`.
                logs.update(found)
                state.log_history[-1].update(found)

        def on_train_end(self, *_: object, **__: object) -> None:
            run.end()

    return MeterCallback()


@final
class _Run:
    """One run of training, as a callback meets it."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._hook: RemovableHandle | None = None
        self._open: tuple[ExitStack, Step] | None = None
        self._logged = 0

    def begin(self, model: nn.Module) -> None:
        self.end()
        names = tuple(signature(model.forward).parameters)

        def look(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if self._open is not None and module.training:
                given = dict(zip(names, args, strict=False)) | kwargs
                mask = given.get("attention_mask")
                odd = isinstance(mask, Tensor) and mask.ndim != 2
                self._open[1].add_rows(_rows(given), note=_AS_READ if odd else None)

        # A compiled graph cannot look at numbers, so it breaks here.
        seen = torch.compiler.disable(look)
        self._hook = model.register_forward_pre_hook(seen, with_kwargs=True)

    def step_begin(self) -> None:
        # One that an error ended is not there to be measured.
        self._drop()
        stack = ExitStack()
        self._open = stack, stack.enter_context(self.meter.step())

    def step_end(self) -> None:
        if self._open is not None:
            stack, self._open = self._open[0], None
            stack.close()

    def since_last(self) -> dict[str, float]:
        """Return what the steps since the last time were like."""
        new: tuple[Metered, ...] = self.meter.steps[self._logged :]
        if not new:
            return {}
        self._logged += len(new)
        found = Totals.of(new).sum
        names = {"exact": "mfu", "half": "mfu_half", "dense": "mfu_dense"}
        mfu = {names[kind]: share for kind, share in found.mfu.items() if share is not None}
        rates = ("tokens_per_second", "attention_share")
        known = {name: getattr(found, name) for name in rates}
        return mfu | {name: value for name, value in known.items() if value is not None}

    def end(self) -> None:
        if self._hook is not None:
            self._hook.remove()
        self._hook = None
        self._drop()

    def _drop(self) -> None:
        if self._open is not None:
            stack, self._open = self._open[0], None
            stack.pop_all()


def _rows(given: dict[str, Any]) -> Rows:
    """Return what lies in a batch, by what the model is told of it.

    Raises:
        UnsupportedOption: If it has no tokens.
    """
    tokens = given.get("input_ids")
    tokens = given.get("inputs_embeds") if tokens is None else tokens
    if not isinstance(tokens, Tensor):
        raise UnsupportedOption(
            f"a batch must have input_ids or inputs_embeds to be metered, got {sorted(given)}."
        )
    batch, n = tokens.shape[:2]
    ends, mask, positions = (
        given.get(name) for name in ("cu_seq_lens_q", "attention_mask", "position_ids")
    )
    if ends is not None:
        return rows_of([ends.diff().tolist()], width=batch * n)
    if isinstance(mask, Tensor):
        # transformers writes 1 for a token to be read, in whatever type.
        return rows_of(key_mask=mask > 0) if mask.ndim == 2 else whole(batch, n)
    if isinstance(positions, Tensor) and positions.shape == (batch, n):
        begins = nn.functional.pad(positions.diff(dim=1) != 1, (1, 0))
        return rows_of(segments=begins.cumsum(1))
    return whole(batch, n)


def _counted(model: nn.Module) -> OverLength:
    """Count a model of transformers on the meta device, without its weights, as it is trained.

    Raises:
        ShapeError: If it cannot be made there, does not learn, or its cost bends at some length.
        UnsupportedOption: If it is none, or reads two sequences.
    """
    config: Any = getattr(model, "config", None)
    if config is None or getattr(config, "is_encoder_decoder", False):
        raise UnsupportedOption(
            f"{type(model).__name__} is no model of transformers that reads one sequence: give the "
            "cost of one instead, by read_config or over_length."
        )
    twin = _twin(model, config)
    most = getattr(config, "max_position_embeddings", None)
    longest = most if isinstance(most, int) and most > 0 else _LONGEST

    def count_at(length: int) -> Counted:
        tokens = torch.zeros(1, length, dtype=torch.long, device="meta")
        with torch.enable_grad(), telling(), explained(type(model).__name__):
            return count(twin, input_ids=tokens, training=True)

    return over_length(count_at, lengths=[*(n for n in _SHORT if n < longest), longest])


def _twin(model: nn.Module, config: Any) -> nn.Module:  # noqa: ANN401 -- theirs
    kind = type(model)
    try:
        twin = bare(kind, config)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ShapeError(
            f"{kind.__name__} cannot be made from its configuration alone ({error}): give the cost "
            "of a sequence instead, by read_config or over_length."
        ) from error
    learning = dict(model.named_parameters())
    for name, parameter in twin.named_parameters():
        parameter.requires_grad_(name not in learning or learning[name].requires_grad)
    return twin
