"""Why a model leaks: remedies are tried until the leak ends, so a cause is proved, not guessed."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, final

import torch
from torch import Tensor

from attncost.core.errors import AttnCostError
from attncost.integrations.hf.configurations import configurations, implementing
from attncost.integrations.hf.questions import Setup, counting
from attncost.integrations.hf.register import interfaces, ours
from attncost.integrations.hf.trial import Model, Question, Trial

# What a model may raise when it is called in a way that it was not made for.
UNFIT: Final = (TypeError, ValueError, RuntimeError, IndexError, AttributeError, AttnCostError)

# Mask functions that a function without one may have been written for: True where a key is read,
# or numbers to be added to the scores.
_MASKS: Final = ("sdpa_mask", "eager_mask")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Leaking:
    """A set-up that was seen to leak.

    Attributes:
        setup: The model, the batch and what they are meant to keep apart.
        question: What was asked.
        limit: Movement up to here is rounding.
    """

    setup: Setup
    question: Question
    limit: float


@final
@dataclass(frozen=True, slots=True)
class Remedy:
    """What may end a leak.

    Attributes:
        tried: What it is, in a few words.
        cause: Why there was a leak, if it ends it.
        advice: How a user does the same.
        arguments: What the model is called with in addition or instead.
        mask: The mask function of transformers that attention functions without one are given.
        implementation: The attention function that takes over.
    """

    tried: str
    cause: str
    advice: str
    arguments: dict[str, Any] = field(default_factory=dict)
    mask: str | None = None
    implementation: str | None = None


def cause_of(leaking: Leaking) -> tuple[str, str]:
    """Return why it leaks and what to do, in words."""
    sets = [_in_the_call(leaking, mask) for mask in _MASKS]
    sets.append(sets[0] + _eager(leaking))
    sets.append(sets[-1] + _whole_mask(leaking))
    for tried in sets:
        if tried and _ends(leaking, tried):
            needed = _needed(leaking, tried)
            return "; and ".join(x.cause for x in needed), "; and ".join(x.advice for x in needed)
    still = ", ".join(remedy.tried for remedy in sets[-1])
    return (
        f"unknown, as it stays with {still}" if still else "unknown",
        "look for what mixes tokens outside attention, such as pooling or convolution",
    )


def implementations(model: Model) -> list[str]:
    """Return the attention functions that parts of a model use."""
    return sorted({str(one._attn_implementation) for one in configurations(model)})


def without_masks(model: Model) -> tuple[str, ...]:
    """Return the attention functions of a model that were registered without a mask function."""
    functions, masks = interfaces()
    return tuple(one for one in implementations(model) if one in functions and one not in masks)


@contextmanager
def _applied(model: Model, remedies: list[Remedy]) -> Iterator[dict[str, Any]]:
    """Apply remedies for a while, and return the arguments that belong to them."""
    with ExitStack() as stack:
        arguments: dict[str, Any] = {}
        for remedy in remedies:
            arguments |= remedy.arguments
            if remedy.mask is not None:
                stack.enter_context(_masked(without_masks(model), remedy.mask))
            if remedy.implementation is not None:
                stack.enter_context(implementing(model, remedy.implementation))
        yield arguments


def _ends(leaking: Leaking, remedies: list[Remedy]) -> bool:
    """Say whether the leak ends with these remedies."""
    question, (rows, columns) = leaking.question, leaking.question.fixed.shape
    try:
        with _applied(leaking.setup.model, remedies) as arguments:
            batch = {**leaking.setup.batch, **arguments}
            moved = Trial.of(leaking.setup.model, batch, (rows, columns)).movement(question)
    except UNFIT:
        return False
    return float(moved.max()) <= leaking.limit


def _needed(leaking: Leaking, remedies: list[Remedy]) -> list[Remedy]:
    """Leave out one remedy after another that the others can do without."""
    for remedy in [*remedies]:
        others = [one for one in remedies if one is not remedy]
        if others and _ends(leaking, others):
            remedies = others
    return remedies


def _in_the_call(leaking: Leaking, mask: str) -> list[Remedy]:
    """Return what may be wrong with the way the model is set up and called."""
    maskless = without_masks(leaking.setup.model)
    remedies = []
    if maskless:
        remedies.append(
            Remedy(
                "a mask function",
                f"attention function {maskless[0]!r} is registered without a mask function, so "
                "that transformers gives it no mask",
                f"AttentionMaskInterface.register({maskless[0]!r}, {mask}), or "
                "attncost.hf.register in place of both",
                mask=mask,
            )
        )
    return remedies + _packing(leaking)


def _packing(leaking: Leaking) -> list[Remedy]:
    """Return what keeps transformers from finding documents: it looks at positions alone."""
    if leaking.setup.numbers is None or leaking.question.kind != "document":
        return []
    model, batch, remedies = leaking.setup.model, leaking.setup.batch, []
    if batch.get("use_cache", getattr(model.config, "use_cache", False)):
        whose = "in the call" if "use_cache" in batch else "by the model's configuration"
        # Training with checkpoints turns the cache off, so the same call leaks in evaluation only.
        also = " (activation checkpointing turns it off, but only in training)"
        remedies.append(
            Remedy(
                "use_cache=False",
                f"use_cache is on {whose}, and with a cache transformers does not look for "
                "documents in position_ids"
                + also
                * bool(getattr(model, "is_activation_checkpointing", False)),
                "pass use_cache=False",
                arguments={"use_cache": False},
            )
        )
    if batch.get("attention_mask") is not None:
        remedies.append(
            Remedy(
                "no attention_mask",
                "an attention_mask is given, and beside one transformers does not look for "
                "documents in position_ids",
                "leave attention_mask out, and let padding be a document of its own",
                arguments={"attention_mask": None},
            )
        )
    if batch.get("position_ids") is None:
        remedies.append(
            Remedy(
                "position_ids",
                f"position_ids are missing, and {implementations(model)[0]} attention "
                "learns of documents from nothing else",
                "pass position_ids that begin at 0 in each document",
                arguments={"position_ids": _positions(leaking)},
            )
        )
    return remedies


def _eager(leaking: Leaking) -> list[Remedy]:
    names = [name for name in implementations(leaking.setup.model) if name != "eager"]
    if not names:
        return []
    return [
        Remedy(
            "eager attention",
            f"attention function {names[0]!r} reads what its mask hides, which eager attention "
            "does not",
            "use another attn_implementation"
            + ("; attncost.hf.register makes one" if ours(names[0]) is None else ""),
            implementation="eager",
        )
    ]


def _whole_mask(leaking: Leaking) -> list[Remedy]:
    """Return a mask of pairs, which a model hands to its attention as it is."""
    model, kind = leaking.setup.model, leaking.question.kind
    if model.config.is_encoder_decoder:
        return []
    lacking = {
        "document": "makes no mask of documents, from positions or anything else",
        "padding": "does not hand its attention_mask to attention",
        "future": "does not tell its attention to read nothing ahead",
    }[kind]
    also = {"document": ", or give each document a sequence of its own"}.get(kind, "")
    return [
        Remedy(
            "a mask of pairs",
            f"{type(model).__name__} {lacking}",
            f"give an attention_mask with the axes (batch, 1, query, key){also}",
            arguments={"attention_mask": _pairs(leaking)},
        )
    ]


def _positions(leaking: Leaking) -> Tensor:
    """Count the tokens of each document from 0."""
    assert leaking.setup.numbers is not None
    same = leaking.setup.numbers[:, :, None] == leaking.setup.numbers[:, None, :]
    return (same.tril().sum(-1) - 1).to(leaking.setup.model.device)


def _pairs(leaking: Leaking) -> Tensor:
    """Write out which keys each query may read, to be added to scores."""
    stream = leaking.question.stream
    counts = counting(leaking.setup.batch, stream)
    read = counts[:, None, :].expand(-1, stream.shape[1], -1)
    if leaking.setup.numbers is not None:
        read = read & (leaking.setup.numbers[:, :, None] == leaking.setup.numbers[:, None, :])
    if leaking.setup.causal:
        read = read.tril()
    read = read | torch.eye(stream.shape[1], dtype=torch.bool)
    dtype = leaking.setup.model.dtype
    hidden = torch.full(read.shape, torch.finfo(dtype).min, dtype=dtype).masked_fill(read, 0.0)
    return hidden[:, None].to(leaking.setup.model.device)


@contextmanager
def _masked(names: Sequence[str], mask: str) -> Iterator[None]:
    """Give attention functions a mask function for a while."""
    _, masks = interfaces()
    for name in names:
        masks.register(name, getattr(import_module("transformers.masking_utils"), mask))
    try:
        yield
    finally:
        # The registry can be added to only; what makes masks looks into this mapping, too.
        for name in names:
            del masks._global_mapping[name]
