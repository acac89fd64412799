"""ViT: an encoder that reads patches of an image (Dosovitskiy et al. 2020, arXiv:2010.11929).

A cost at a length is that of `length - 1` patches and the token that stands before them; `longest`
is the length of the image that it was made for.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from attncost.core.errors import ShapeError
from attncost.cost.configuration import Configuration
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.grouped import ALL, Projection
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.settings import Settings
from attncost.patterns.full import Full

_OUTPUT: Final = frozenset[Projection](("output",))


@final
class Vit(Family):
    """Encoders of images with a table of positions and biases everywhere."""

    kinds: ClassVar[Mapping[str, Settings]] = {
        "vit": {"image_size": 224, "patch_size": 16, "num_channels": 3, "qkv_bias": True}
    }

    def read(self, said: Said) -> Configuration:
        """Read an encoder with a pooler or classes."""
        if said.saved_as("MaskedImageModeling"):
            raise said.refused("paints images")
        d = said.size("hidden_size")
        (height, width), (tall, wide) = _sides(said, "image_size"), _sides(said, "patch_size")
        patches = (height // tall) * (width // wide)
        if not patches:
            raise ShapeError(
                f"image_size of {said.name} must be at least its patch_size, got {height} x "
                f"{width} for patches of {tall} x {wide}."
            )
        layer = Layer(
            d_model=d,
            mixers=(said.grouped(Full(), biases=ALL if said.flag("qkv_bias") else _OUTPUT),),
            feed=said.dense(gated=False, biased=True),
            norms=2,
            norm_numbers=2,
        )
        return Configuration(
            name=said.name,
            d_model=d,
            stack=(Layers(layer, said.size("num_hidden_layers")),),
            embedding=Embedding(
                positions=patches + 1,
                patch=tall * wide * said.size("num_channels"),
                # A bias of the patches, and the token before them.
                others=2 * d,
            ),
            head=_head(said, d),
            norms=2 * d,
            longest=patches + 1,
            source=said.source,
        )


def _head(said: Said, d: int) -> Head:
    if said.saved_as("Classification"):
        return Head(kind="classes", width=said.classes, others=said.classes)
    pooled = said.optional("pooler_output_size") or d
    return Head(kind="pooler", width=pooled, others=pooled)


def _sides(said: Said, key: str) -> tuple[int, int]:
    """Return height and width, which one number says for both."""
    given = said.get(key)
    both = given if isinstance(given, list | tuple) else [given, given]
    if len(both) != 2:
        raise ShapeError(f"{key} of {said.name} must be one side or two, got {given!r}.")
    height, width = (Said({key: one}, said.name, said.source).size(key) for one in both)
    return height, width
