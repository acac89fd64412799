"""The formulas of a model beside the same with its numbers, and what comes out.

    attention    4·l·n²·d    4·6·512²·384    2,415,919,104

Every number of the other chapters of prices is one of these, or a sum of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from attncost.core.counts import Count, symbol
from attncost.core.formula import Filled
from attncost.cost.configuration import Configuration
from attncost.cost.model.layer import Layer
from attncost.report.document import FORMULA, Column, Section, Table
from attncost.report.lettered import Lettered, lettered

_BYTES: Final = 2  # of a number in 16 bit
_SQUARE: Final = 2
_FORMULAS: Final = (
    Column("part"),
    Column("formula", FORMULA),
    Column("with its numbers", FORMULA),
)


def formulas(model: Configuration, *, length: int, over: int | None, command: str) -> Section:
    """Return the formulas of a model.

    Args:
        model: The sizes.
        length: Tokens that the numbers are of.
        over: Where attention takes over; None if nowhere.
        command: What reproduces it.
    """
    letters, n = lettered(model), symbol("n")
    values = {**letters.values, "n": length}
    parts = {
        f"FLOPs of {model.name} by formula": ("flops", _flops(letters.model, n)),
        f"Numbers that {model.name} learns": ("exact", _numbers(letters.model)),
        f"What {model.name} keeps of a sequence": ("bytes", _kept(letters.model, n)),
    }
    tables = [
        _table(f"{title}", unit, list(rows), values, command)
        for title, (unit, rows) in parts.items()
    ]
    tables += _crossing(letters, over, command)
    shown = [table for table in tables if table.rows]
    return Section(
        title=f"The formulas of {model.name}, with its numbers",
        text=(_legend(letters, shown, length),),
        blocks=tuple(shown),
    )


def _table(
    title: str, unit: str, parts: Sequence[tuple[str, Count]], values: Mapping[str, int], again: str
) -> Table:
    """Return a row for each part, and their sum."""
    found = [(name, Filled(formula, values)) for name, formula in parts]
    rows: list[tuple[Any, ...]] = [
        (name, filled.formula, filled, filled.value) for name, filled in found if filled.value
    ]
    if len(rows) > 1:
        rows.append(("together", None, None, sum(row[3] for row in rows)))
    return Table(
        title=title,
        columns=(*_FORMULAS, Column("comes to", unit)),
        rows=tuple(rows),
        command=again,
    )


def _flops(model: Configuration, n: Count) -> Iterator[tuple[str, Count]]:
    yield "attention", model.core(n).useful
    yield "projections", _over(model, lambda layer: sum(m.linear(n).useful for m in layer.mixers))
    yield "feed-forward", _over(model, lambda one: one.feed.cost(n).useful if one.feed else 0)
    yield "first step", model.embedding.cost(n, model.d_model).useful
    if model.head:
        yield model.head.kind, model.head.cost(n, model.d_model).useful


def _numbers(model: Configuration) -> Iterator[tuple[str, Count]]:
    yield "embedding", model.embedding.learned(model.d_model)
    yield "projections", _over(model, lambda layer: sum(m.learned for m in layer.mixers))
    yield "feed-forward", _over(model, lambda layer: layer.feed.learned if layer.feed else 0)
    yield "norms", model.norms + _over(model, _norms)
    if model.head:
        yield model.head.kind, model.head.learned(model.d_model)


def _norms(layer: Layer) -> Count:
    return layer.norms * layer.norm_numbers * layer.d_model + layer.others


def _kept(model: Configuration, n: Count) -> Iterator[tuple[str, Count]]:
    yield "cache, 16 bit", _BYTES * model.cached(n)
    yield "state", model.state_bytes(_BYTES)


def _over(model: Configuration, of: Callable[[Layer], Count]) -> Count:
    return sum(some.times * of(some.layer) for some in model.stack)


def _crossing(letters: Lettered, over: int | None, command: str) -> Iterator[Table]:
    """Give where attention takes over, if that is a short formula: one kind of layer, no bend."""
    import sympy  # noqa: PLC0415 -- costs half a second, and most commands never need it

    model, n = letters.model, symbol("n")
    core, linear = (sympy.sympify(one(n).useful) for one in (model.core, model.linear))
    if over is None or len(model.stack) > 1 or not core.is_polynomial(n):
        return
    pairs, rest = sympy.Poly(core, n), sympy.Poly(linear - core, n)
    if pairs.degree() < _SQUARE or rest.degree() > _SQUARE:
        return
    # core(n) >= linear(n) is c n² >= r n, where r is what a token takes besides.
    formula = sympy.cancel(rest.coeff_monomial(n) / pairs.coeff_monomial(n**2))
    once = rest.coeff_monomial(1) != 0 and model.head
    yield Table(
        title=f"Where attention of {model.name} takes as many FLOPs as all the rest",
        columns=(*_FORMULAS, Column("so from", "tokens")),
        rows=(("n", formula, Filled(formula, letters.values), over),),
        note=f"Besides, the {once.kind} costs as much at any length." if once else "",
        command=command,
    )


def _legend(letters: Lettered, tables: Sequence[Table], length: int) -> str:
    """Say what the letters are that formulas have."""
    used = {
        str(letter)
        for table in tables
        for row in table.rows
        for letter in getattr(row[1], "free_symbols", ())
    }
    said = [f"n = {length:,} tokens"] * ("n" in used)
    said += [
        f"{letter} = {value:,} {letters.meanings[letter]}"
        for letter, value in letters.values.items()
        if letter in used
    ]
    return f"{'; '.join(said)}. A multiply-add is 2 FLOPs."
