"""When a run ends early: nothing is learned from a loss or a gradient that is not finite."""

import math

from torch.amp.grad_scaler import GradScaler

from attncost.train.telemetry import Row


def diverges(row: Row, scaler: GradScaler) -> bool:
    """Say whether a step changes no weights and is the last one.

    Args:
        row: What is told of it.
        scaler: Of the loss. Where it is enabled, gradients may overflow: it leaves out such a step
            and scales the next loss less.
    """
    finite = math.isfinite(row.gradient_norm) or scaler.is_enabled()
    return not (math.isfinite(row.loss) and finite)
