"""What a plan was asked by formula: the options of `attncost plan`, read and checked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._command import command
from attncost.cli._devices import Shared, named, rates
from attncost.cli._lists import items
from attncost.cli._magnitudes import tokens
from attncost.core.errors import ShapeError, UnknownName

if TYPE_CHECKING:
    from attncost.cost.configuration import Configuration, Work
    from attncost.cost.planning.situation import Situation
    from attncost.integrations.sizes import Sized
    from attncost.patterns.interface import Pattern
    from attncost.report.planning import Request

# What an option is called where that is no name of a parameter, or no plural.
_TYPED: Final = {"works": "for", "patterns": "pattern", "kernels": "kernel"}
# What says nothing of some works.
_TRAINING: Final = ("checkpointing", "optimizer")
_SERVING: Final = ("kv", "page")
_MOST: Final = 1 << 30


def option(parameter: str) -> str:
    """Return how the option of a parameter is typed.

    >>> option("as_json"), option("works"), option("sequence_parallel")
    ('--json', '--for', '--sequence-parallel')
    """
    typed = {**_TYPED, "as_json": "json"}.get(parameter, parameter)
    return f"--{typed.replace('_', '-')}"


def again(model: str, wished: Mapping[str, object]) -> str:
    """Return the command that repeats a plan.

    Args:
        model: As it was typed.
        wished: The options that are not as ever.
    """
    return command("plan", [model], {option(name)[2:]: value for name, value in wished.items()})


def requested(found: "Sized", given: Mapping[str, Any], wished: Mapping[str, object]) -> "Request":
    """Return what is to be planned.

    Args:
        found: The model.
        given: All options.
        wished: Those that are not as ever.

    Raises:
        AttnCostError: If one of them is impossible.
    """
    from attncost.cost.planning.sizes import memory_of
    from attncost.report.planning import Request

    memory, device = memory_of(given["memory"]), named(given["memory"])
    known = rates(device, given["calibration"], activations=given["activations"])
    _check_price(given["price"], known=known is not None)
    length, batch = given["length"], given["batch"]
    check_batch(batch)
    return Request(
        name=found.name,
        models=_models(found.configuration, given["patterns"] or ()),
        memory=memory,
        device=device.title if device else "",
        situations=_situations(found.configuration, given, wished),
        length=length and _length(length, "--length", found.configuration),
        batch=batch,
        lengths=_lengths(given["lengths"], found.configuration),
        rates=known,
        price=given["price"],
        command=again(given["model"], wished),
    )


def check_batch(batch: int | None) -> None:
    """Refuse a batch of no size.

    Raises:
        ShapeError: If it is one.
    """
    if batch is not None and not 1 <= batch <= _MOST:
        raise ShapeError(f"--batch must lie between 1 and {_MOST:,}, got {batch}.")


def check_memory(memory: str | None) -> None:
    """Refuse a memory of no letters, as of a variable that is not set.

    Raises:
        ShapeError: If it is one.
    """
    if memory is not None and not memory.strip():
        raise ShapeError(
            "--memory must be a size, such as 80GiB, or a GPU's name, such as H100, got nothing."
        )


def check_known(kind: str, asked: Sequence[str], known: Collection[str]) -> None:
    """Refuse names that nothing has.

    Raises:
        UnknownName: If there is one.
    """
    for name in asked:
        if name not in known:
            raise UnknownName(kind, name, known)


def _check_price(price: float | None, *, known: bool) -> None:
    if price is None:
        return
    if not known:
        raise ShapeError(
            "--price needs what a device does in a second: give --memory a GPU's name, or "
            "--calibration a file."
        )
    if not 0 <= price <= _MOST:
        raise ShapeError(f"--price must lie between 0 and {_MOST:,}, got {price:g}.")


def _length(text: str, of: str, model: "Configuration") -> int:
    found = tokens(text, of=of)
    if model.longest is not None and found > model.longest:
        raise ShapeError(
            f"{model.name} has positions for {model.longest:,} tokens, got {of} {text}: plan "
            "shorter ones."
        )
    return found


def _lengths(text: str | None, model: "Configuration") -> tuple[int, ...]:
    given = [] if text is None else items(text, of="--lengths")
    return tuple(sorted({_length(item, "--lengths", model) for item in given}))


def _situations(
    model: "Configuration", given: Mapping[str, Any], wished: Collection[str]
) -> "tuple[Situation, ...]":
    from attncost.cost.planning.situation import KERNELS, STATES, Situation

    works = _works(model, given, wished)
    shared = Shared(gpus=given["gpus"], share=given["share"], sequence=given["sequence_parallel"])
    kernels = list(dict.fromkeys(given["kernels"] or KERNELS))
    check_known("kernel", kernels, KERNELS)
    check_known("optimizer", [given["optimizer"]], STATES)
    same = {name: given[name] for name in ("weights", "activations", *_SERVING, *_TRAINING)}
    return tuple(
        Situation(work=work, kernel=kernel, sharding=shared.of(work), **same)
        for work in works
        for kernel in kernels
    )


def _works(
    model: "Configuration", given: Mapping[str, Any], wished: Collection[str]
) -> "list[Work]":
    """Return what to plan: what was asked for, or all that the model and the precision allow."""
    from attncost.cost.planning.precision import precision
    from attncost.cost.planning.situation import WORKS

    asked = list(dict.fromkeys(given["works"] or ()))
    check_known("work", asked, WORKS)
    if "decode" in asked and not model.caches:
        raise ShapeError(
            f"{model.name} keeps nothing of past tokens, so it decodes none: plan prefill."
        )
    trains = precision(given["weights"]) in ("float32", "bfloat16", "float16")
    if "training" in asked and not trains:
        raise ShapeError(
            f"--weights {given['weights']} cannot be trained: give 16 or 32 bits, such as bf16."
        )
    left_out = {"training": not trains, "decode": not model.caches}
    works = asked or [work for work in WORKS if not left_out.get(work)]
    check_needed(works, wished)
    return works


def check_needed(works: "Sequence[Work]", wished: Collection[str]) -> None:
    """Refuse options that change nothing in these works.

    Raises:
        ShapeError: If there is one.
    """
    for names, needed in ((_TRAINING, {"training"}), (_SERVING, {"prefill", "decode"})):
        for name in names:
            if name in wished and not needed & set(works):
                raise ShapeError(
                    f"--{name} changes nothing in {' and '.join(works)}: leave it out, or add "
                    f"--for {min(needed)}."
                )


def _models(model: "Configuration", asked: Sequence[str]) -> "dict[str, Configuration]":
    from attncost.mechanisms.spelling import spelling

    own = model.attention
    found = {spelling(own) if own else "own": model}
    for text in asked:
        if not model.patterns:
            raise ShapeError(f"{model.name} has no softmax attention that {text} could replace.")
        pattern = _pattern(text)
        found.setdefault(spelling(pattern), model.reading(pattern))
    return found


def _pattern(text: str) -> "Pattern":
    """Read a pattern; a number alone is its first size."""
    from attncost import patterns
    from attncost.core.spelling import whole
    from attncost.mechanisms.spelling import spelled
    from attncost.patterns.interface import Pattern

    name, _, rest = text.partition(":")
    if whole(rest) is not None and name in patterns.names():
        sizes: Any = patterns.load(name)  # a dataclass, which the interface does not say
        text = f"{name}:{fields(sizes)[0].name}={rest}" if fields(sizes) else text
    found = spelled(text)
    if not isinstance(found, Pattern):
        raise ShapeError(
            f"--pattern takes a pattern such as window:width=4096, got {text}, which is none: "
            "`attncost derive` prices it in a layer."
        )
    return found
