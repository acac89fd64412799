"""One case of a sweep: at which sizes, in which type and mode, and on what a subject runs."""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, final, get_args

import torch

from attncost.core.errors import ShapeError, UnknownName
from attncost.measure.store.sample import unusual

Mode: TypeAlias = Literal["forward", "training", "decode"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
DTYPES: Final = ("float32", "float64", "bfloat16", "float16")
DEVICES: Final = ("cpu", "cuda")
LONGEST: Final = 1 << 24  # tokens; formulas walk over blocks of them
_MOST: Final = 1 << 20
_MOST_THREADS: Final = 1024  # OpenMP aborts where it cannot start as many


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Where a subject is measured.

    Attributes:
        length: Tokens of a sequence; in `decode` those that the cache holds when the next comes.
        batch: Sequences in a call.
        dtype: Type of weights and activations, by PyTorch's name.
        threads: Of the CPU that PyTorch may use.
        mode: `forward` is inference, `training` forward and backward, `decode` one more token.
        device: `cpu` or `cuda`.
    """

    length: int
    batch: int = 1
    dtype: str = "float32"
    threads: int = 1
    mode: Mode = "forward"
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, most in (("length", LONGEST), ("batch", _MOST), ("threads", _MOST_THREADS)):
            if not 1 <= getattr(self, name) <= most:
                raise ShapeError(
                    f"{name} must lie between 1 and {most:,}, got {getattr(self, name)}."
                )
        for name, known in (("dtype", DTYPES), ("mode", MODES), ("device", DEVICES)):
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)

    @property
    def torch_dtype(self) -> torch.dtype:
        """The type as PyTorch has it."""
        found = getattr(torch, self.dtype)
        assert isinstance(found, torch.dtype)
        return found

    @property
    def series(self) -> str:
        """What tells it from the usual case, its length left aside; empty if nothing does.

        >>> Case(length=64, batch=4, mode="training").series
        'batch 4, training'
        """
        return unusual(self)

    def at(self, length: int) -> "Case":
        """Return the same case at another length."""
        return replace(self, length=length)
