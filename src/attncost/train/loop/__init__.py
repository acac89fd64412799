"""The loop: steps of a recipe, told of one by one, and gone on with after kill -9."""

from attncost.train.loop.evaluated import evaluate
from attncost.train.loop.record import Trained
from attncost.train.loop.run import train

__all__ = ["Trained", "evaluate", "train"]
