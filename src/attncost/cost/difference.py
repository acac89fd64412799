"""What differs between two counts, module by module, and from which length the other is cheaper.

A module is compared by its own cost, without the modules in it, so that a change is named where it
is and not again in all that holds it. Modules of one name belong together; those that are left are
paired by class, last name and order, which a prefix that differs does not disturb.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from torch import nn

from attncost.cost.counting.counted import Counted

_SAME_MODULE: Final = "_orig_mod"  # what torch.compile puts around a module


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    """What a module costs by itself, all its calls together.

    Attributes:
        kind: Its class.
        parameters: Numbers that it learns; shared ones belong to the first module that has them.
        dense: FLOPs without any mask.
        useful: FLOPs of what is read.
        executed: FLOPs that are multiplied.
        elementwise: Operations outside products.
        bytes: Bytes read and written.
    """

    kind: str
    parameters: int = 0
    dense: int = 0
    useful: int = 0
    executed: int = 0
    elementwise: int = 0
    bytes: int = 0


FIELDS: Final = ("parameters", "dense", "useful", "executed", "elementwise", "bytes")
Owned: TypeAlias = dict[str, Own]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A module that differs.

    Attributes:
        module: Its name, in the first if it is there.
        other: Its name in the second, if that is another one.
        before: What it costs in the first; None if it is only in the second.
        after: What it costs in the second; None if it is only in the first.
    """

    module: str
    other: str | None = None
    before: Own | None
    after: Own | None

    @property
    def size(self) -> int:
        """The most FLOPs that it has on either side, by which changes are ordered."""
        return max(0 if own is None else own.dense for own in (self.before, self.after))


def owned(counted: Counted, parameters: Mapping[str, int]) -> Owned:
    """Return what every module costs by itself; those that cost and learn nothing are left out.

    Args:
        counted: The count.
        parameters: Numbers that each learns itself, as `parameters_by_module` says.
    """
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for row in counted.rows:
        again = row.phase == "recomputation"
        for field in FIELDS[3:] if again else FIELDS[1:]:
            sums[row.module][field] += int(getattr(row.cost, field))
    for name, numbers in parameters.items():
        sums[name]["parameters"] += numbers
    names = [*counted.modules, *sums.keys() - counted.modules.keys()]
    return {
        name: Own(kind=counted.modules.get(name, ""), **sums[name])
        for name in names
        if any(sums.get(name, {}).values())
    }


def parameters_by_module(module: nn.Module) -> dict[str, int]:
    """Return how many numbers each module learns itself; the first of several owns a shared one."""
    found: Counter[str] = Counter()
    for name, parameter in module.named_parameters():
        parts = [part for part in name.split(".")[:-1] if part != _SAME_MODULE]
        found[".".join(parts)] += parameter.numel()
    return dict(found)


def difference(
    first: Owned, second: Owned, *, fields: Iterable[str] = FIELDS
) -> tuple[Change, ...]:
    """Return the modules that differ, dearest first.

    Args:
        first: What every module of one costs.
        second: What every module of the other costs.
        fields: What must be equal.
    """
    chosen, pairs = tuple(fields), _pairs(first, second)
    changes = [
        Change(
            module=name,
            other=None if other == name else other,
            before=first[name],
            after=None if other is None else second[other],
        )
        for name, other in pairs.items()
    ]
    partners = set(pairs.values())
    changes += [
        Change(module=name, before=None, after=own)
        for name, own in second.items()
        if name not in partners
    ]
    differ = [one for one in changes if not _alike(one, chosen)]
    return tuple(sorted(differ, key=lambda one: -one.size))


def topmost(name: str, others: Iterable[str]) -> str:
    """Return the outermost module that holds one and that no other name lies in.

    >>> topmost("model.layers.3.mlp", ["model.layers.2.mlp", "lm_head"])
    'model.layers.3'
    """
    parts = name.split(".")
    prefixes = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
    dotted = [f"{other}." for other in others]
    return next((p for p in prefixes if not any(o.startswith(f"{p}.") for o in dotted)), name)


def _alike(change: Change, fields: tuple[str, ...]) -> bool:
    before, after = change.before, change.after
    nothing = Own(kind="")
    return all(getattr(before or nothing, f) == getattr(after or nothing, f) for f in fields)


def _pairs(first: Owned, second: Owned) -> dict[str, str | None]:
    """Return the partner of every module of the first, where it has one."""
    pairs: dict[str, str | None] = {name: name if name in second else None for name in first}
    for key in (_class_and_name, _class):
        left = [name for name, partner in pairs.items() if partner is None]
        taken = set(pairs.values())
        free = [name for name in second if name not in taken]
        queues = _grouped(free, second, key)
        for group, names in _grouped(left, first, key).items():
            # The class alone says too little where their numbers differ.
            if key is _class and len(names) != len(queues.get(group, [])):
                continue
            pairs |= dict(zip(names, queues.get(group, []), strict=False))
    return pairs


def _grouped(
    names: list[str], of: Owned, key: Callable[[str, Own], Hashable]
) -> dict[Hashable, list[str]]:
    found: dict[Hashable, list[str]] = {}
    for name in names:
        found.setdefault(key(name, of[name]), []).append(name)
    return found


def _class_and_name(name: str, own: Own) -> Hashable:
    return own.kind, name.rpartition(".")[2]


def _class(_: str, own: Own) -> Hashable:
    return own.kind
