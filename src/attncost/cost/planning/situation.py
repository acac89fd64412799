"""How a model is run: what for, in which precisions, by which kernel, on how many devices."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from attncost.core.counts import Count
from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.configuration import Work
from attncost.cost.planning.precision import precision
from attncost.cost.planning.sharding import Sharding

Kernel: TypeAlias = Literal["fused", "naive"]
Optimizer: TypeAlias = Literal["adamw", "sgd", "momentum"]

WORKS: Final[tuple[Work, ...]] = ("prefill", "decode", "training")
KERNELS: Final[tuple[Kernel, ...]] = ("fused", "naive")
# Numbers that an optimizer keeps in float32 of each parameter; 16-bit weights get a float32 copy.
STATES: Final[dict[Optimizer, int]] = {"adamw": 2, "momentum": 1, "sgd": 0}


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What decides how much memory a length takes, beside the model.

    Attributes:
        work: `prefill` reads a prompt, `decode` writes one token after `length` of them, `training`
            takes a step.
        kernel: `fused` keeps no weights of attention, `naive` keeps n x n of them.
        weights: Precision of the parameters; gradients have it, too.
        kv: Precision of keys and values.
        activations: Precision of everything else.
        page: Tokens that a paged cache reserves at a time; 1 for exactly what is needed.
        checkpointing: Whether training keeps the input of each layer alone, and runs it again.
        optimizer: What training updates parameters with.
        sharding: How devices share all that.
    """

    work: Work = "prefill"
    kernel: Kernel = "fused"
    weights: str = "bfloat16"
    kv: str = "bfloat16"
    activations: str = "bfloat16"
    page: Count = 1
    checkpointing: bool = False
    optimizer: Optimizer = "adamw"
    sharding: Sharding = field(default_factory=Sharding)

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("work", self.work, WORKS),
            ("kernel", self.kernel, KERNELS),
            ("optimizer", self.optimizer, tuple(STATES)),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        for part in ("weights", "kv", "activations"):
            object.__setattr__(self, part, precision(getattr(self, part)))
        if self.page < 1:
            raise ShapeError(f"page must be at least 1 token, got {self.page}.")
        if self.work == "training" and self.weights not in ("float32", "bfloat16", "float16"):
            raise ShapeError(
                f"training needs weights of 16 or 32 bits, got {self.weights}: give "
                "weights='bfloat16', or plan prefill or decode."
            )
