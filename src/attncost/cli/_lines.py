"""A text whose lines are put into batches, counted as a model counts them."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.measure.subjects.target import Target
    from attncost.report.lines import Text

# No text has more lines that anybody batches.
_MOST: Final = 1 << 30


def counted_text(chosen: "Target", path: Path, *, batch: int) -> "Text":
    """Return how many tokens each line has, or words where there is no tokenizer.

    Args:
        chosen: The model.
        path: The text.
        batch: Lines in a batch of those that come at random.

    Raises:
        ShapeError: If it reads images, or a batch has no line.
        StorageError: If the file cannot be read as text, or has none.
    """
    from attncost.integrations.pretrained import has_tokenizer, token_lengths
    from attncost.report.example import every_line
    from attncost.report.lines import Text

    check_lines(batch)
    if reads_images(chosen):
        raise ShapeError(f"{chosen.name} reads images, no text: leave --text out.")
    every = every_line(path)
    found = [line for line in every if line.strip()]
    blank = len(every) - len(found)
    if chosen.folder and has_tokenizer(chosen.folder):
        counted = token_lengths(chosen.folder, found)
        return Text(name=path.name, lengths=counted, unit="tokens", batch_size=batch, blank=blank)
    counted = [len(line.split()) for line in found]
    return Text(name=path.name, lengths=counted, unit="words", batch_size=batch, blank=blank)


def check_lines(batch: int) -> None:
    """Refuse a batch without lines, or of more than any text has.

    Raises:
        ShapeError: If it is one.
    """
    if batch < 1:
        raise ShapeError(f"--batch must be at least 1, got {batch}.")
    if batch > _MOST:
        raise ShapeError(f"--batch must be at most {_MOST:,} lines, got {batch:,}.")


def reads_images(chosen: "Target") -> bool:
    """Say whether a model reads no text."""
    return bool(chosen.configuration.embedding.patch)
