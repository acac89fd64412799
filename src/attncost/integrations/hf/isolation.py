"""Whether a model keeps apart what must not meet: padding, the future, packed documents.

A mask that is dropped raises nothing and trains well enough to go unnoticed. So it is tried: tokens
are replaced that must not matter, and outputs that move all the same are leaks. It takes about ten
forward passes, and as many more to explain a leak. It does not look at what a model computes of the
tokens that it may read: a window that is lost or positions that should start anew are no leaks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf
from textwrap import fill
from typing import Final, TypeAlias, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.core.errors import AttnCostError, UnsupportedOption
from attncost.core.notebook import as_html
from attncost.integrations.hf.causes import Leaking, cause_of, implementations, without_masks
from attncost.integrations.hf.questions import Setup, counting
from attncost.integrations.hf.trial import Batch, Kind, Model, Question, Trial, undisturbed

Place: TypeAlias = tuple[int, int]

_WHAT: Final = {"padding": "padding", "future": "a later token", "document": "another document"}


@final
@dataclass(frozen=True, slots=True)
class Leak:
    """Something that an output depends on and must not; the worst of its kind.

    Attributes:
        kind: What is read: padding, the future or another document.
        source: Sequence and token that is read.
        target: Sequence and token whose output moves.
        size: How far it moves, measured in how far outputs do when every token changes.
        moved: How many outputs move.
        cause: Why, in words; "unknown" and what was tried if no remedy that was tried helps.
        remedy: What to do.
    """

    kind: Kind
    source: Place
    target: Place
    size: float
    moved: int
    cause: str
    remedy: str

    def __str__(self) -> str:
        (row, token), (other, read) = self.target, self.source
        where = f"token {read}" if row == other else f"token {read} of sequence {other}"
        others = f" and {self.moved - 1} more" if self.moved > 1 else ""
        far = f"moves {self.size:.2g} times as far as when all tokens change"
        moves = far if self.size < inf else "is not finite"
        lines = [
            f"{self.kind}: token {token} of sequence {row}{others} read {_WHAT[self.kind]}, "
            f"{where}: {moves}",
            f"  why: {self.cause}",
            f"  do: {self.remedy}",
        ]
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in lines)


@final
@dataclass(frozen=True, slots=True)
class Isolation:
    """What was tried on a model and a batch, and what leaked; true if nothing did.

    Attributes:
        model: What was tried.
        checked: What must not matter and was replaced.
        leaks: What did matter.
        notes: What would go wrong with other batches.
    """

    _repr_html_ = as_html

    model: str
    checked: tuple[str, ...]
    leaks: tuple[Leak, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing leaked."""
        return not self.leaks

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.checked:
            count = len(self.leaks)
            found = "no leak" if not count else "1 leak" if count == 1 else f"{count} leaks"
            said = f"{found}; checked: {', '.join(self.checked)}."
        else:
            said = (
                "nothing to check, as the batch has neither padding nor documents and the model is "
                "not causal."
            )
        plain = [f"{self.model}: {said}", *(f"note: {note}" for note in self.notes)]
        lines = [fill(line, 80, subsequent_indent="  ") for line in plain]
        return "\n".join([lines[0], *map(str, self.leaks), *lines[1:]])


def check_isolation(
    model: Model,
    batch: Batch,
    *,
    causal: bool | None = None,
    segments: Int[Tensor, "b n"] | None = None,
    tolerance: float | None = None,
) -> Isolation:
    """Try whether outputs depend on padding, on later tokens or on other documents of the batch.

    The model runs in evaluation and without gradients, and is left as it was.

    >>> check_isolation(model, {"input_ids": ids, "attention_mask": mask})  # doctest: +SKIP

    Args:
        model: A model of transformers, on its device and in its dtype.
        batch: What it is called with; labels do no harm.
        causal: Whether a token must not depend on later ones; by default what the model's own
            attention says.
        segments: Which document each token belongs to; by default what the batch says: positions
            that start anew, `cu_seq_lens_q`, `seq_idx`, or a mask that counts documents.
        tolerance: How far outputs may move by rounding, measured in how far they do when every
            token changes; by default 1e-4, or 8 units in the last place of half precision.

    Raises:
        AttnCostError: If outputs do not depend on the tokens at all, or are not finite.
        ShapeError: If the batch is not tokens that the model has outputs for.
        UnsupportedOption: If the batch continues from a cache.
    """
    if batch.get("past_key_values", batch.get("cache")) is not None:
        raise UnsupportedOption(
            "a batch that continues from a cache cannot be run twice: leave past_key_values out "
            "and give all tokens."
        )
    if not hasattr(model, "get_input_embeddings"):
        raise AttnCostError(
            f"check_isolation needs a model of transformers, got {type(model).__name__}."
        )
    given = {name: value for name, value in batch.items() if value is not None}
    with undisturbed(model):
        setup = Setup.of(model, given, causal, segments)
        asked = setup.questions()
        leaks = _leaks(setup, asked, tolerance) if asked else ()
    how = f"{type(model).__name__} ({', '.join(implementations(model))}, {model.dtype})"
    notes = [
        f"attention function {name!r} has no mask function, so that padding, windows and documents "
        "are lost wherever they matter."
        for name in without_masks(model)
    ]
    checked = tuple(_words(setup, asked))
    return Isolation(how.replace("torch.", ""), checked, leaks, tuple(notes))


def _leaks(setup: Setup, asked: Sequence[Question], tolerance: float | None) -> tuple[Leak, ...]:
    """Return the worst leak of each kind."""
    last = setup.streams[-1]
    trial, counts = Trial.of(setup.model, setup.batch, last.shape), counting(setup.batch, last)
    spoilt = counts & ~trial.before.isfinite().all(-1).cpu()
    if spoilt.any():
        return (_of_nan(setup, asked, spoilt),)
    if tolerance is None:
        # Rounding differs only where tokens are sorted anew; there, by a few units in the last
        # place of each layer.
        tolerance = max(1e-4, 8 * torch.finfo(trial.before.dtype).eps)
    reach = {stream: trial.reach(stream, counts) for stream in {one.stream for one in asked}}
    found = []
    for _, cases in groupby(asked, lambda question: question.kind):
        moved = {one: trial.movement(one) / reach[one.stream] for one in cases}
        worst = max(moved, key=lambda one: float(moved[one].max()))
        if float(moved[worst].max()) > tolerance:
            leaking = Leaking(setup, worst, tolerance * reach[worst.stream])
            found.append(_leak(trial, leaking, torch.stack([*moved.values()]).amax(0), tolerance))
    return tuple(found)


def _leak(trial: Trial, leaking: Leaking, moved: Float[Tensor, "b r"], tolerance: float) -> Leak:
    """Say of the row that moves most what it depends on, and why."""
    row, token = divmod(int(moved.argmax()), moved.shape[1])
    cause, remedy = cause_of(leaking)
    return Leak(
        kind=leaking.question.kind,
        source=_source(trial, leaking, (row, token)),
        target=(row, token),
        size=float(moved.max()),
        moved=int((moved > tolerance).sum()),
        cause=cause,
        remedy=remedy,
    )


def _source(trial: Trial, leaking: Leaking, target: Place) -> Place:
    """Return one token that moves the target, by halving those that may have."""
    question = leaking.question
    places = question.changed.nonzero()
    while len(places) > 1:
        half = len(places) // 2
        for part in (places[:half], places[half:]):
            changed = torch.zeros_like(question.changed)
            changed[part[:, 0], part[:, 1]] = True
            if float(trial.movement(replace(question, changed=changed))[target]) > leaking.limit:
                places = part
                break
        else:
            break  # none does alone
    return int(places[0, 0]), int(places[0, 1])


def _of_nan(setup: Setup, asked: Sequence[Question], spoilt: Bool[Tensor, "b n"]) -> Leak:
    """Explain outputs that are not finite before anything changes, if padding makes them so."""
    row, token = (int(one) for one in spoilt.nonzero()[0])
    source = next((one for one in asked if one.kind == "padding"), None)
    if source is not None:
        masks = [stream.prefix + "attention_mask" for stream in setup.streams]
        unmasked = {one: torch.ones_like(setup.batch[one]) for one in masks if one in setup.batch}
        trial = Trial.of(setup.model, {**setup.batch, **unmasked}, setup.streams[-1].shape)
        if bool(trial.before[spoilt.to(trial.before.device)].isfinite().all()):
            padded = source.changed.nonzero()
            own = padded[padded[:, 0] == row] if bool(source.changed[row].any()) else padded
            return Leak(
                kind="padding",
                source=(int(own[0, 0]), int(own[0, 1])),
                target=(row, token),
                size=inf,
                moved=int(spoilt.sum()),
                cause="padding that reads nothing becomes NaN in one layer, and the next one "
                "spreads it; without attention_mask all outputs are finite",
                remedy="use an attn_implementation that gives such rows zeros, as "
                "attncost.hf.register does",
            )
    raise AttnCostError(
        f"outputs must be finite to be compared, but token {token} of sequence {row} is not: mend "
        "that first."
    )


def _words(setup: Setup, asked: Sequence[Question]) -> Iterator[str]:
    """Say what was replaced."""
    kinds = {one.kind: one for one in asked}
    if "padding" in kinds:
        hidden = sum(int(one.changed.sum()) for one in asked if one.kind == "padding")
        yield f"{hidden} tokens of padding"
    if "future" in kinds:
        yield "later tokens"
    if setup.numbers is not None:
        documents = int((setup.numbers.amax(1) + 1).sum())
        yield f"{documents} documents"
