"""All that the page knows, as plain data: settings, formulas, presets, devices (schema /1).

Formulas are trees whose common parts and names are written once, as `shared` and `names` say; the
page puts them back. So its size grows with what is new in a formula, not with how many there are.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from attncost.core.errors import UnsupportedOption
from attncost.core.expression import Tree
from attncost.cost.configuration import Configuration
from attncost.cost.planning.devices import device, devices
from attncost.cost.planning.precision import BITS, WHOLE
from attncost.cost.planning.speed import Rates
from attncost.cost.reading import preset, presets
from attncost.mechanisms.interface import Priced
from attncost.report.calculator.asked import followed
from attncost.report.calculator.attentions import attentions, dials, left_out
from attncost.report.calculator.configs import configs
from attncost.report.calculator.model import State, expressed
from attncost.report.calculator.quantities import QUANTITIES
from attncost.report.calculator.quantity import options
from attncost.report.calculator.settings import CHOICES, FOLLOWED, SIZES, TRAINED
from attncost.report.calculator.shared import Shared

SCHEMA: Final = "attncost.calculator/1"

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIRST: Final = "llama-3-8b"
_DEVICE: Final = "h100-sxm"
_WIDTH: Final = 4096
_RULES: Final = (
    {
        "name": "kv_heads",
        "divides": ["kv_heads", "heads"],
        "message": "heads of keys must divide heads, got {kv_heads} for {heads}.",
    },
    {
        "name": "length",
        "most": ["length", "longest"],
        "message": "the model has positions for {longest} tokens, got {length}.",
    },
    {
        # One of a single key looks nowhere, and so keeps past tokens after all.
        "name": "width",
        "least": ["width", 2],
        "of": "window-around",
        "message": "a window of both sides must have a width of at least 2, got {width}.",
    },
    {
        "name": "weights",
        "when": ["work", "training"],
        "among": ["weights", list(TRAINED)],
        "message": "training needs weights of 16 or 32 bits, got {weights}: choose bfloat16, or "
        "other work.",
    },
)
_NOTES: Final = (
    "A multiply-add is 2 FLOPs; biases, norms and activations cost none. Times are bounds: no "
    "device reaches its peak.",
    "Activations and logits are those of a plain implementation in PyTorch.",
)


def exported(
    model: Configuration | None = None, *, name: str = "", calibration: Rates | None = None
) -> dict[str, Any]:
    """Return the data of a page.

    Args:
        model: What it starts with; a preset if left out.
        name: How `attncost` is asked for that model.
        calibration: What this machine was measured to do, if it was.

    Raises:
        UnsupportedOption: If the sizes of the page do not express the model.
    """
    first = preset(_FIRST) if model is None else model
    named = name or _FIRST
    start = _start(expressed(first), named)
    here = None
    if calibration is not None:
        source = calibration.source
        here = {"title": "this machine, measured", "flops": calibration.flops}
        here |= {"bytes": calibration.bytes, "source": source}
        start["device"] = "calibrated"
    return {
        "schema": SCHEMA,
        "version": version("attncost"),
        "sizes": [_size(asdict(size)) for size in (*SIZES, *dials())],
        "choices": [_choice(choice.name) for choice in CHOICES],
        "attentions": _attentions(),
        "followed": list(FOLLOWED),
        **_formulas(),
        "whole": sorted(WHOLE),
        "rules": list(_RULES),
        "plain": _plain(),
        "presets": _presets()[0],
        "inexpressible": _presets()[1],
        "left_out": list(left_out()),
        "devices": [_device(one) for one in devices()],
        "calibration": here,
        "configs": configs(),
        "model": named,
        "start": start,
        "notes": list(_NOTES),
    }


@cache
def _formulas() -> Mapping[str, Any]:
    """Return all trees, their common parts, and the names behind letters."""
    shared = Shared([one.tree() for one in QUANTITIES])
    names = [size.name for size in (*SIZES, *dials())] + [f"@{one.name}" for one in QUANTITIES]
    codes = {name: _code(place) for place, name in enumerate(names)}
    quantities = {
        one.name: {
            "title": one.title,
            "symbol": one.symbol,
            "unit": one.unit,
            "exact": one.exact,
            "tree": _coded(tree, codes),
        }
        for one, tree in zip(QUANTITIES, shared.trees, strict=True)
    }
    parts = [_coded(part, codes) for part in shared.parts]
    return {"names": names, "shared": parts, "quantities": quantities}


def _code(place: int) -> str:
    """Return a letter, or two.

    >>> _code(0), _code(51), _code(52)
    ('a', 'Z', 'aa')
    """
    more, last = divmod(place, len(_LETTERS))
    return (_LETTERS[more - 1] if more else "") + _LETTERS[last]


def _coded(tree: Tree | None, codes: Mapping[str, str]) -> Tree | None:
    if isinstance(tree, str):
        return codes.get(tree, tree)
    if not isinstance(tree, list):
        return tree
    # The name of a choice is no size.
    kept = 2 if tree[0] == "case" else 1
    return [*tree[:kept], *(_coded(part, codes) for part in tree[kept:])]


def _size(size: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in size.items() if value != ""}


def _choice(name: str) -> dict[str, Any]:
    choice = next(one for one in CHOICES if one.name == name)
    return {
        "name": name,
        "title": choice.title,
        "default": choice.default,
        "group": choice.group,
        "options": [{"name": word, "title": choice.options[word]} for word in options(name)],
    }


def _attentions() -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "title": one.title,
            "sizes": list(one.dials),
            "spelling": one.spelling,
            "follows": followed(one.name),
            "approximate": issubclass(one.kind, Priced),
        }
        for one in attentions()
    ]


def _plain() -> State:
    """Return a model of the plainest kind: what presets do not say is this."""
    sizes: State = {size.name: size.default for size in SIZES if size.group in ("main", "model")}
    words: State = {one.name: one.default for one in CHOICES if one.group in ("main", "model")}
    kept = sizes | words | {"attention": "causal"}
    return {name: value for name, value in kept.items() if name not in ("length", "batch")}


@cache
def _presets() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return those that are expressed, and the names of others with the reason."""
    found, refused = [], []
    for name in presets():
        try:
            state = expressed(preset(name))
        except UnsupportedOption as reason:
            refused.append({"name": name, "reason": str(reason)})
            continue
        told = {key: value for key, value in state.items() if value != _plain().get(key)}
        found.append({"name": name, "title": name, "state": told})
    return found, refused


def _device(name: str) -> dict[str, Any]:
    found = device(name)
    peaks = {kind: found.peaks[kind] for kind in BITS if kind in found.peaks}
    return {
        "name": name,
        "title": found.title,
        "memory": found.memory,
        "bandwidth": found.bandwidth,
        "peaks": peaks,
    }


def _start(model: State, name: str) -> dict[str, Any]:
    sizes = {size.name: size.default for size in (*SIZES, *dials())}
    sizes["width"] = _WIDTH
    words = {choice.name: choice.default for choice in CHOICES}
    chosen = device(_DEVICE)
    start: dict[str, Any] = {**sizes, **words, **_plain(), **model}
    d, h = start["d_model"], start["heads"]
    return start | {
        "compared": "causal" if start["attention"] == "window" else "window",
        "device": _DEVICE,
        "memory": chosen.memory,
        "preset": name if name in presets() else "",
        "head_dim_held": start["head_dim"] != max(1, d // h),
        "length": min(start["length"], start["longest"] or start["length"]),
    }
