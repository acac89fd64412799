"""Which run this is: what must be the same for it to go on.

    recipe, task, model, optimizer   as Python shows them
    start                            of each tensor of the model: type and shape, its place among
                                     those that the optimizer learns, and a digest of its bytes

A model that is built as it was before begins with the same bytes, so other seeds and weights from
elsewhere are told apart. Digests take 1.6 s for 1 GB. They say that weights differ and not by how
much: where another machine draws other last bits, a run cannot go on there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from hashlib import blake2b
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

from torch import Tensor, nn, uint8
from torch.optim import Optimizer

from attncost.core.errors import StorageError
from attncost.train.recipe import Recipe

_SHOWN: Final = 80  # letters of what differs
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


def identity(
    model: nn.Module, optimizer: Optimizer, task: object, recipe: Recipe
) -> dict[str, Any]:
    """Return what must be the same for a run to go on, before its first step."""
    return {
        "recipe": asdict(recipe) | {"betas": list(recipe.betas)},
        "task": _spoken(task),
        "model": _spoken(model),
        "optimizer": _spoken(optimizer),
        "start": dict(_start(model, optimizer)),
    }


def check_same(file: Path, found: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Refuse a file of another run.

    Args:
        file: Where it is.
        found: What it says of its run, and maybe more.
        run: What it must say.

    Raises:
        StorageError: If something differs; the message says what, and how it is there and here.
    """
    there = dict(_parts({name: found.get(name) for name in run}))
    here = dict(_parts(run))
    for key in {**here, **there}:
        old, new = there.get(key, "missing"), here.get(key, "missing")
        if old == new:
            continue
        was, is_now = _where_they_part(str(old), str(new))
        raise StorageError(
            f"{file} is of another run, whose {key[-1]} is {was:.{_SHOWN}} and not "
            f"{is_now:.{_SHOWN}}: name another folder, or give what it was made with."
        )


def shown(tensor: Tensor) -> str:
    """Return type and shape of a tensor."""
    return f"{tensor.dtype} {tuple(tensor.shape)}"


def _start(model: nn.Module, optimizer: Optimizer) -> Iterator[tuple[str, str]]:
    learned = chain.from_iterable(group["params"] for group in optimizer.param_groups)
    places = {id(weight): f"learned as {place}" for place, weight in enumerate(learned)}
    for name, tensor in model.state_dict(keep_vars=True).items():
        # What a module adds to its state may be anything.
        if isinstance(tensor, Tensor):
            place = places.get(id(tensor), "not learned")
            yield name, f"{shown(tensor)}, {place}, begun as {_digest(tensor)}"


def _digest(tensor: Tensor) -> str:
    there = tensor.detach().cpu().contiguous().flatten().view(uint8)
    return blake2b(there.numpy().data, digest_size=8).hexdigest()


def _spoken(thing: object) -> str:
    return _ADDRESS.sub("", repr(thing))


def _parts(run: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, said in run.items():
        if isinstance(said, Mapping):
            yield from (((name, part), one) for part, one in said.items())
        elif said is not None:
            yield (name,), said


def _where_they_part(old: str, new: str) -> tuple[str, str]:
    """Return the first line that differs, in both."""
    lines = zip_longest(old.splitlines(), new.splitlines(), fillvalue="nothing")
    there, here = next((one, other) for one, other in lines if one != other)
    return there.strip(), here.strip()
