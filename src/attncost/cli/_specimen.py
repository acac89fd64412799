"""MODEL and what it shall read, from the command line; what is missing is said before it loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.integrations.specimen import Specimen, Wish


def specimen_of(
    model: str,
    *,
    text: Path | None = None,
    apart: bool = False,
    length: int | None = None,
    image: Path | None = None,
) -> "Specimen":
    """Return a model with what it reads.

    Args:
        model: MODEL.
        text: A file; the example, if left out.
        apart: Whether each line is a document by itself.
        length: Tokens at most.
        image: A file, for a model of images.

    Raises:
        AttnCostError: If something is missing, or does not go together.
    """
    from attncost.integrations.checkpoint import checkpoint
    from attncost.integrations.sizes import check_size, is_function
    from attncost.integrations.specimen import Wish, of_function, specimen

    if length is not None:
        check_size("--length", length)
    if image:
        _check_image_alone({"text": text, "lines": apart, "length": length})
    if is_function(model):
        for option, wish in (("text", text), ("lines", apart), ("image", image)):
            if wish:
                raise ShapeError(f"{model} brings its own inputs: leave --{option} out.")
        return of_function(model, length)
    found = checkpoint(model)
    if image:
        found.check_reads_images()
        return specimen(found, Wish(source=image.name, image=image))
    found.check_reads_text()
    return specimen(found, _text(text, apart=apart, length=length))


def _check_image_alone(given: Mapping[str, object]) -> None:
    """Refuse what an image would leave without effect."""
    for option, wish in given.items():
        if wish:
            raise ShapeError(
                f"a model reads a text or an image: leave --image, or --{option}, out."
            )


def _text(path: Path | None, *, apart: bool, length: int | None) -> "Wish":
    from attncost.core.example import example_text
    from attncost.integrations.specimen import Wish
    from attncost.report.example import every_line

    path = path or example_text()
    give = "give a file with a document on each line." if apart else "give a file with a text."
    return Wish(
        text=tuple(every_line(path, give=give)), source=path.name, apart=apart, length=length
    )
