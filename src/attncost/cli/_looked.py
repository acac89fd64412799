"""What is seen of a model's attention: captured once, then measured and priced layer by layer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeAlias, final

from attncost.cli._progress import bar
from attncost.core.errors import ShapeError, UnsupportedOption

if TYPE_CHECKING:
    from attncost.integrations.specimen import Specimen
    from attncost.report.head_rows import HeadRow, Heads
    from attncost.view.capture.captured import Captured
    from attncost.view.maps.header.calls import Call
    from attncost.view.maps.header.entries import Prices
    from attncost.view.maps.maps import Maps
    from attncost.view.prices.heads import HeadPrice
    from attncost.view.prices.layers import LayerPrice
    from attncost.view.statistics.results import Statistics

# Shows what is done next, how many of these are done, and of how many.
_Tell: TypeAlias = Callable[[str, int, int], None]

_UNTRIED: Final = "No line that swaps a window in was tried"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What of a model is looked at.

    Attributes:
        layers: Numbers of layers, or a name with wildcards; None for all.
        heads: Numbers of heads; None for all.
        prices: Whether windows are priced, and swapped in to see what they change.
        patience: Seconds that trying all these lines may take; None for any time.
        page: Whether all of it must fit into a page, which is looked at first.
    """

    layers: tuple[int, ...] | str | None = None
    heads: tuple[int, ...] | None = None
    prices: bool = True
    patience: float | None = None
    page: bool = False


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Looked:
    """What was seen.

    Attributes:
        specimen: The model, and what it read.
        captured: Its calls of attention.
        found: Statistics by the name of the module, of its last call.
        prices: By the same name, of each head and of the layer.
        heads: All that in summary.
    """

    specimen: "Specimen"
    captured: "Captured"
    found: "Mapping[str, Statistics]"
    prices: "Prices"
    heads: "Heads"

    def maps(self, *, title: str, command: str) -> "Maps":
        """Return the maps.

        Args:
            title: What they are of.
            command: What makes them.

        Raises:
            ShapeError: If their page would be too large.
        """
        from attncost.view.maps.maps import maps

        return maps(
            self.captured,
            tokens=self.specimen.tokens,
            title=title,
            command=command,
            statistics=self.found,
            prices=self.prices,
            image=self.specimen.image,
            grid=self.specimen.grid,
        )


def looked(specimen: "Specimen", choice: Choice) -> Looked:
    """Run a model once, and find out what its heads attend to.

    Args:
        specimen: The model, and what it reads.
        choice: Which layers and heads, and whether to price them.

    Raises:
        AttnCostError: If it cannot be run, or has no such layer or head.
    """
    from attncost.measure.sweep.visits import Progress
    from attncost.report.head_rows import Heads
    from attncost.view.maps.header.calls import calls
    from attncost.view.maps.header.layers import GAUGES
    from attncost.view.maps.header.size import check_foreseen

    with bar() as show:

        def tell(doing: str, done: int, total: int) -> None:
            show(Progress(doing, done, total or None))

        tell(f"{specimen.name} reads", 0, 0)
        captured, seconds = _captured(specimen, choice)
        shown = calls(captured)
        if choice.page:
            check_foreseen([call.seen for call in shown], map_size=GAUGES.map_size)
        found, rows = _measured(specimen, captured, shown, tell)
        each: dict[str, tuple[HeadPrice, ...]] = {}
        layers: dict[str, LayerPrice] = {}
        missing = ""
        if choice.prices:
            each = _head_prices(captured, found, tell)
            missing = _too_long(len(captured) * seconds, choice.patience)
            if not missing:
                layers, missing = _layer_prices(specimen, captured, found, tell)
    heads = Heads(
        model=specimen.name,
        read=specimen.read,
        left_out=specimen.left_out,
        length=max(captured.last(name).k.shape[2] for name in captured),
        first=GAUGES.first,
        rows=rows,
        prices=layers,
        missing=(*_unseen(captured), *((missing,) if missing else ())),
    )
    prices = {name: (of, layers.get(name)) for name, of in each.items()}
    return Looked(specimen=specimen, captured=captured, found=found, prices=prices, heads=heads)


def _unseen(captured: "Captured") -> tuple[str, ...]:
    """Name the layers of attention whose calls nobody saw."""
    if not captured.missed:
        return ()
    return (
        f"Not seen, as they compute attention themselves or did not run: "
        f"{', '.join(captured.missed)}.",
    )


def _captured(specimen: "Specimen", choice: Choice) -> "tuple[Captured, float]":
    """Return the calls, and the seconds that the model took."""
    from attncost.view.capture.capture import capture

    with capture(
        specimen.model, choice.layers, heads=choice.heads, values=choice.prices
    ) as captured:
        begun = perf_counter()
        specimen()
        seconds = perf_counter() - begun
    if not captured:
        raise ShapeError(
            f"{specimen.name} made no call of attention that can be seen: expected a model of "
            "transformers, or one that attends by PyTorch's or attncost's functions."
        )
    return captured, seconds


def _measured(
    specimen: "Specimen", captured: "Captured", shown: "Sequence[Call]", tell: _Tell
) -> "tuple[dict[str, Statistics], tuple[HeadRow, ...]]":
    """Return the statistics of the last call of each layer, and a row for each head of all."""
    from attncost.report.head_rows import head_rows
    from attncost.view.maps.header.calls import decoder
    from attncost.view.maps.header.measured_call import measured_call

    found: dict[str, Statistics] = {}
    rows: list[HeadRow] = []
    target = decoder(shown)
    for done, call in enumerate(shown):
        tell(f"statistics of {call.title}", done, len(shown))
        # The last call is told of all its sequences, earlier ones of the one that is shown.
        seen, beside = call.seen, None if target is None else target.seen
        if call.last:
            seen = captured.last(call.module)
            beside = None if target is None else captured.last(target.module)
        of = measured_call(seen, target=beside)
        if call.last:
            found[call.module] = of
        rows += head_rows(call, of, special=specimen.special)
    return found, tuple(rows)


def _head_prices(
    captured: "Captured", found: "Mapping[str, Statistics]", tell: _Tell
) -> "dict[str, tuple[HeadPrice, ...]]":
    from attncost.view.prices.heads import head_prices

    prices = {}
    for done, (name, of) in enumerate(found.items()):
        tell(f"prices of {name}", done, len(found))
        prices[name] = head_prices(captured.last(name), of)
    return prices


def _layer_prices(
    specimen: "Specimen", captured: "Captured", found: "Mapping[str, Statistics]", tell: _Tell
) -> "tuple[dict[str, LayerPrice], str]":
    """Return the prices of layers, or why there are none."""
    from attncost.integrations.theirs import foreign
    from attncost.view.prices.layers import layer_prices

    if specimen.inputs:
        reason = f"{specimen.name} takes its inputs by position"
        return {}, f"{_UNTRIED}: {reason}; make it return (module, {{name: tensor}})."
    layers = {name: (captured.last(name), of) for name, of in found.items()}
    try:
        with foreign(specimen.name):
            return layer_prices(
                specimen.model,
                specimen.options,
                layers,
                progress=lambda done, every: tell("swapping windows in", done, every),
            ), ""
    except UnsupportedOption as error:  # All the rest can be seen.
        return {}, f"{_UNTRIED}: {error}"


def _too_long(seconds: float, patience: float | None) -> str:
    if patience is None or seconds <= patience:
        return ""
    return f"{_UNTRIED}, which would take about {seconds:,.0f} s: attncost maps takes that time."
