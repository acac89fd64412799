"""All that a page says, as plain data: the frame around its layers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Final

from attncost.view.maps.arrays.pooled import LOW
from attncost.view.maps.header.measures import Measure

SCHEMA: Final = "attncost.maps/1"


def header(
    *,
    title: str,
    subtitle: str,
    sequences: Sequence[Mapping[str, object]],
    layers: Iterable[Mapping[str, object]],
    command: str = "",
    notes: Sequence[str] = (),
    measures: Sequence[Measure] = (),
) -> dict[str, object]:
    """Return the header of a page.

    Args:
        title: Of the page.
        subtitle: How much it shows.
        sequences: Where queries and keys come from.
        layers: Its layers.
        command: What makes it again.
        notes: What it says of itself.
        measures: What is said of each head.
    """
    return {
        "schema": SCHEMA,
        "title": title,
        "subtitle": subtitle,
        "command": command,
        "version": version("attncost"),
        "notes": [*notes],
        "sequences": [*sequences],
        "scale": {"low": LOW},
        "measures": [asdict(measure) for measure in measures],
        "layers": [*layers],
    }
