"""What is compared on a task where nobody says otherwise: whole, near, and linear attention."""

from attncost.mechanisms.spelling import to_run
from attncost.train.quality.tasks.comparison import Attention
from attncost.train.recipe import Recipe
from attncost.train.tasks.interface import Task


def usual_attentions(task: Task) -> tuple[str, ...]:
    """Return how usual attentions for a task are spelled, what leaves nothing out first.

    A window sees a quarter of the sequence; what looks ahead is left to tasks where it may.
    """
    quarter = max(1, task.length // 4)
    if task.causal:
        return ("causal", f"window:width={quarter}", "linear:causal=1")
    side = quarter // 2
    window = f"window:width={2 * side + 1},ahead={side}" if side else "window:width=1"
    return ("full", window, "linear", f"linformer:rank={quarter}")


def attentions_of(texts: tuple[str, ...]) -> dict[str, Attention]:
    """Return attentions by how they are spelled.

    Raises:
        UnknownName: If there is no such pattern or mechanism, or it has no such parameter.
        UnsupportedOption: If it has a price and no code.
        ShapeError: If a parameter is impossible.
    """
    return {text: to_run(text) for text in texts}


def usual_recipe(
    task: Task, *, steps: int | None = None, learning_rate: float | None = None
) -> Recipe:
    """Return the recipe of a task, but for what is asked for."""
    usual = task.usual
    return Recipe(
        steps=usual.steps if steps is None else steps,
        batch=usual.batch,
        learning_rate=usual.learning_rate if learning_rate is None else learning_rate,
    )
