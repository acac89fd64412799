"""A family of models: kinds of `config.json` that one reader understands."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from attncost.cost.configuration import Configuration
from attncost.cost.families.said import Said
from attncost.cost.settings import Settings


class Family(ABC):
    """Reads the settings of some kinds of models.

    Attributes:
        kinds: Every `model_type` that it understands, with what transformers takes where a
            `config.json` leaves a size out.
    """

    kinds: ClassVar[Mapping[str, Settings]]

    @abstractmethod
    def read(self, said: Said) -> Configuration:
        """Return the sizes that settings of one of its kinds say.

        Raises:
            ShapeError: If a size is missing or impossible, or something is not understood.
        """
