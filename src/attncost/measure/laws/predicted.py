"""What a formula says of one call: the terms that a law is fitted to."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """What the formula says of one call; a multiply-add is 2 FLOPs.

    Attributes:
        linear: FLOPs that grow with the length alone: projections, feed-forward.
        core: FLOPs that the kernel executes between queries and keys.
        bytes: Bytes that its products between queries and keys move.
    """

    linear: int
    core: int
    bytes: int = 0
