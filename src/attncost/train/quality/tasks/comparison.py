"""What is compared: attentions that learn one task, each from several seeds.

Every seed draws the same sequences for all of them, so that a difference is taken within a seed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from typing import Any, Final, TypeAlias, final

from attncost.core.errors import ShapeError
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern
from attncost.train.recipe import Recipe
from attncost.train.tasks import spelling
from attncost.train.tasks.interface import Task
from attncost.train.transformer import Sizes

Attention: TypeAlias = Pattern | Mechanism

# Those that leave nothing out, which others are compared with.
_WHOLE: Final = ("full", "causal")
_MOST_SEEDS: Final = 1000


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What is to be trained.

    Attributes:
        task: What is learned.
        attentions: Patterns and mechanisms, by how they are spelled.
        recipe: How; its seed is not used.
        sizes: Of the model, the same for all.
        seeds: How many runs of each, from seeds 0, 1 and so on.
        held_out: Sequences of the task that a trained model is judged on, at most.

    Raises:
        ShapeError: If there is no attention, or no seed.
    """

    task: Task
    attentions: Mapping[str, Attention]
    recipe: Recipe
    sizes: Sizes = field(default_factory=Sizes)
    seeds: int = 3
    held_out: int = 1024

    def __post_init__(self) -> None:
        if not self.attentions:
            raise ShapeError("attentions are compared, got none: give one or more.")
        if not 1 <= self.seeds <= _MOST_SEEDS:
            raise ShapeError(f"seeds must lie between 1 and {_MOST_SEEDS}, got {self.seeds}.")
        if self.held_out < 1:
            raise ShapeError(f"held_out must be at least 1, got {self.held_out}.")

    @property
    def base(self) -> str:
        """What others are compared with: `full` or `causal` if it is there, else the first."""
        names = (*(name for name in _WHOLE if name in self.attentions), *self.attentions)
        return names[0]

    @property
    def runs(self) -> tuple[tuple[str, int], ...]:
        """Every attention with every seed; all attentions have one before any has the next."""
        return tuple((name, seed) for seed in range(self.seeds) for name in self.attentions)

    @property
    def settings(self) -> dict[str, Any]:
        """What a run must share with others to be compared with them, as plain data.

        Versions are among it: weights are drawn and sums are rounded as they have it.
        """
        recipe = {name: value for name, value in asdict(self.recipe).items() if name != "seed"}
        recipe["betas"] = list(self.recipe.betas)
        return {
            "task": spelling(self.task),
            **recipe,
            **asdict(self.sizes),
            "held_out": self.held_out,
            "attncost": version("attncost"),
            "torch": version("torch"),
        }

    def seeded(self, seed: int) -> Recipe:
        """Return the recipe of one run."""
        return replace(self.recipe, seed=seed)
