"""What `attncost maps` prints: what matters of the heads, and what the page gives away."""

from collections.abc import Mapping

from attncost.report.document import Document, Section
from attncost.report.head_rows import Heads
from attncost.report.heads import (
    PRIVACY,
    described,
    explained,
    heads_facts,
    heads_findings,
    layer_table,
    swap_lines,
)


def maps_document(found: Heads, *, files: Mapping[str, int], command: str) -> Document:
    """Return the summary of what was seen.

    Args:
        found: All heads.
        files: Bytes of each file that was written, by its name.
        command: What makes them again.
    """
    table = Section(
        title="Heads by layer", text=explained(found), blocks=(layer_table(found, command),)
    )
    swaps = Section(title="What would be cheaper", text=(*swap_lines(found), *found.missing))
    return Document(
        schema="attncost.maps_summary/1",
        title=maps_title(found),
        subtitle=described(found),
        command=command,
        findings=tuple(heads_findings(found, command)),
        sections=(
            table,
            *((swaps,) if swaps.text else ()),
            Section(title="What they give away", text=(PRIVACY,)),
        ),
        facts={"model": found.model, "files": dict(files), **heads_facts(found)},
    )


def maps_title(found: Heads) -> str:
    """Return what a page of maps is called.

    Args:
        found: The heads that it shows.
    """
    heads, layers = len(found.rows), len(found.calls)
    if heads == 1:
        (row,) = found.rows
        label = found.labels[row.layer, row.call]
        layer = f"Layer {label}" if label[0].isdecimal() else label
        return f"{layer}, head {row.head} of {found.model}"
    within = f"{layers:,} {'layer' if layers == 1 else 'layers'}"
    return f"What {heads:,} heads in {within} of {found.model} attend to"
