"""What a report says of heads, and the page of their maps beside it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attncost.cli._command import command
from attncost.cli._looked import Choice, looked
from attncost.cli._specimen import specimen_of
from attncost.core.errors import AttnCostError, ShapeError

if TYPE_CHECKING:
    from attncost.measure.subjects.target import Target
    from attncost.report.material import Material

# As many tokens as the demo reads: all heads of a large model must fit into memory.
_TOKENS: Final = 512
# Nobody waits longer for the lines of a report.
_PATIENCE_SECONDS: Final = 60.0


def maps_beside(output: Path) -> Path:
    """Return where the maps of a report lie.

    >>> maps_beside(Path("attncost-report.html")).name
    'attncost-report-maps.html'
    """
    return output.with_name(f"{output.stem}-maps.html")


def has_maps(chosen: "Target") -> bool:
    """Say whether there are weights, and a tokenizer to read a text with."""
    from attncost.integrations.pretrained import has_tokenizer, has_weights

    folder = chosen.folder
    return folder is not None and has_weights(folder) and has_tokenizer(folder)


def with_maps(
    material: "Material", chosen: "Target", *, text: Path | None, page: Path
) -> "Material":
    """Add what the heads of a model attend to, if it has any to show, and write their maps.

    Args:
        material: What a report is made of.
        chosen: The model.
        text: What it reads; the example, if left out.
        page: Where the maps go.
    """
    from attncost.report.heads import Mapped
    from attncost.report.maps_summary import maps_title

    if not has_maps(chosen):
        return material
    length = min(_TOKENS, chosen.configuration.longest or _TOKENS)
    again = command("maps", [chosen.name], {"text": text, "length": length, "output": page})
    try:
        found = looked(
            specimen_of(chosen.name, text=text, length=length), Choice(patience=_PATIENCE_SECONDS)
        )
    except AttnCostError as error:  # It can be reported on all the same.
        missing = (*material.missing, f"What its heads attend to: {error}")
        return replace(material, missing=missing)
    try:
        found.maps(title=maps_title(found.heads), command=again).save(page)
    except ShapeError as error:
        heads = replace(found.heads, missing=(*found.heads.missing, f"No page of maps: {error}"))
        return replace(material, mapped=Mapped(heads=heads, page="", command=again))
    return replace(material, mapped=Mapped(heads=found.heads, page=page.name, command=again))
