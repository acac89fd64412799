"""One quantity of the page: a name, a letter, and a formula for every combination of choices.

tree = ["case", choice, one for each word] where formulas differ, else one tree for all
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, TypeAlias, final

from attncost.core.expression import Tree, tree
from attncost.cost.planning.precision import BITS
from attncost.report.calculator.asked import Formula
from attncost.report.calculator.attentions import attentions
from attncost.report.calculator.settings import CHOICES, FOLLOWED, ON_OFF, USUAL

Unit: TypeAlias = Literal["flops", "bytes", "seconds", "numbers"]

# Products stand as papers write them.
_ORDER: Final = (
    *("batch", "layers", "heads", "kv_heads", "length", "@pairs", "head_dim", "d_model", "hidden"),
    *("vocabulary", "@core"),
)
_PRECISIONS: Final = ("weights", "kv", "activations")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """Something that the page says.

    Attributes:
        name: In formulas, with `@` before it.
        symbol: The letter for people.
        title: What it is called.
        unit: Of its value.
        over: The choices that its formula depends on.
        formula: Returns it for a combination of them; None if there is none.
        exact: Whether it is more than an estimate.
    """

    name: str
    symbol: str
    title: str
    unit: Unit = "numbers"
    over: tuple[str, ...] = ()
    formula: Formula
    exact: bool = True

    def tree(self) -> Tree | None:
        """Return its formulas as a tree; `["case", choice, one for each word]` where they differ.

        The words of a choice stand in the order of `options`.
        """
        found: dict[tuple[str, ...], Tree | None] = {}
        for chosen in product(*(options(name) for name in self.over)):
            like = tuple(map(_first_alike, self.over, chosen))
            if like not in found:
                formula = self.formula(USUAL | dict(zip(self.over, like, strict=True)))
                found[like] = None if formula is None else tree(formula, _ORDER)
            found[chosen] = found[like]
        return _cases(self.over, found)


def options(name: str) -> tuple[str, ...]:
    """Return the words of a choice, in the order that everybody counts them in."""
    if name == "attention":
        return tuple(one.name for one in attentions())
    if name in FOLLOWED:
        return ON_OFF
    return tuple(next(choice.options for choice in CHOICES if choice.name == name))


def _first_alike(choice: str, word: str) -> str:
    """Return the first precision of as many bits, so that formulas are asked for once."""
    if choice not in _PRECISIONS or choice == "weights":
        return word
    return next(name for name, bits in BITS.items() if bits == BITS[word])


def _cases(over: tuple[str, ...], found: Mapping[tuple[str, ...], Tree | None]) -> Tree | None:
    if not over:
        return found[()]
    branches = [
        _cases(over[1:], {key[1:]: one for key, one in found.items() if key[0] == word})
        for word in options(over[0])
    ]
    alike = all(branch == branches[0] for branch in branches)
    return branches[0] if alike else ["case", over[0], *branches]
