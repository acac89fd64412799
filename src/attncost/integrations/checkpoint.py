"""Where the weights of MODEL lie, and what lies beside them; or what is missing, and what to do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.settings import read_settings, refuse_own_code
from attncost.integrations.architecture import cached
from attncost.integrations.pretrained import has_tokenizer, has_weights
from attncost.integrations.sizes import sized

_GIVE: Final = "give demo, or a folder with weights and a tokenizer."


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A model with weights in local files.

    Attributes:
        name: As it was typed, without `/` at its end.
        title: What its settings call it.
        folder: Where they lie.
        longest: Tokens that it has positions for; None for any number.
        images: Whether it is known to read images.
    """

    name: str
    title: str
    folder: Path
    longest: int | None
    images: bool

    def readable(self, length: int | None, usual: int) -> int:
        """Return how many tokens it shall read at most.

        Args:
            length: As somebody wishes.
            usual: If nobody does.

        Raises:
            ShapeError: If it has no positions for them.
        """
        if length is None:
            return min(usual, self.longest or usual)
        if self.longest is not None and length > self.longest:
            raise ShapeError(
                f"{self.name} has positions for {self.longest:,} tokens, got --length {length:,}: "
                "give a shorter one."
            )
        return length

    def check_reads_text(self) -> None:
        """Refuse a model that has no tokenizer.

        Raises:
            ShapeError: If it reads images, or no tokenizer lies beside its weights.
        """
        if self.images:
            raise ShapeError(
                f"{self.name} reads images: give one with --image FILE, a .npy array of height x "
                "width x 3 bytes or what Pillow opens."
            )
        if not has_tokenizer(self.folder):
            raise ShapeError(
                f"{self.name} has no tokenizer here to read a text with: put its tokenizer.json "
                "beside config.json, or give package.module:factory, which brings its own inputs."
            )

    def check_reads_images(self) -> None:
        """Refuse a model that is known to read text.

        Raises:
            ShapeError: If it has a tokenizer, and no image processor beside it.
        """
        if not self.images and has_tokenizer(self.folder):
            raise ShapeError(f"{self.name} reads text, no images: leave --image out.")


def checkpoint(text: str) -> Checkpoint:
    """Return the model that a text names, if it has weights; sizes need not be understood.

    Raises:
        ShapeError: If it has none, or cannot be read.
        UnknownName: If it names nothing.
        UnsupportedOption: If it names a function.
    """
    try:
        found = sized(text)
    except UnknownName:
        path = Path(text) if Path(text).exists() else cached(text)
        if path is None:
            raise
        return _strange(text, path)
    path = found.path
    if path is None and text.partition(":")[0] == "layer":
        raise ShapeError(
            f"{found.name} has random weights, and what those attend to means nothing: {_GIVE}"
        )
    sizes = found.configuration
    return _checked(
        Checkpoint(
            name=found.name,
            title=sizes.name,
            folder=Path() if path is None else _folder(path),
            longest=sizes.longest,
            images=bool(sizes.embedding.patch),
        ),
        here=path is not None,
    )


def _strange(text: str, path: Path) -> Checkpoint:
    """Return a model of a kind that no formula describes."""
    settings = read_settings(path)
    refuse_own_code(settings, model=text)
    longest: Any = settings.get("max_position_embeddings")
    return _checked(
        Checkpoint(
            name=text,
            title=text,
            folder=_folder(path),
            longest=longest if isinstance(longest, int) and longest > 0 else None,
            images="image_size" in settings,
        ),
        here=True,
    )


def _checked(found: Checkpoint, *, here: bool) -> Checkpoint:
    if not here or not has_weights(found.folder):
        raise ShapeError(
            f"{found.name} has no weights here, so there is nothing to see of its attention: "
            f"{_GIVE}"
        )
    return found


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent
