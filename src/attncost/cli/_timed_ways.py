"""Ways to put a text into batches, timed side by side on the model itself: `plan --measure`."""

from pathlib import Path
from typing import TYPE_CHECKING

from attncost.cli._progress import bar, held
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.cost.planning.situation import Situation
    from attncost.measure.subjects.target import Target
    from attncost.report.compared_ways import Comparison
    from attncost.report.timed_ways import Trials


def check_measured(chosen: "Target", how: "Situation") -> None:
    """Refuse what cannot be run on a text.

    Raises:
        ShapeError: If there are no weights, or no tokenizer, or it is to be trained.
    """
    from attncost.integrations.pretrained import has_tokenizer, has_weights

    if how.work == "training":
        raise ShapeError("--measure times forward passes: leave --for training or --measure out.")
    folder = chosen.folder
    if folder is None or not (has_weights(folder) and has_tokenizer(folder)):
        raise ShapeError(
            f"--measure runs the model on the text, and {chosen.name} has no weights or no "
            "tokenizer here: give demo, or a folder that has both."
        )


def measured(found: "Comparison", chosen: "Target", path: Path) -> "Trials":
    """Return what some lines of the text take in each way, on one thread of this machine.

    Args:
        found: The ways.
        chosen: The model; `check_measured` has seen it.
        path: The text.
    """
    from attncost.integrations.hf.readers import readers
    from attncost.integrations.pretrained import token_ids
    from attncost.integrations.theirs import foreign
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.sweep.visits import Progress
    from attncost.measure.trials.trial import affordable, trial
    from attncost.report.example import lines
    from attncost.report.timed_ways import tried

    assert chosen.folder
    model, ways, every = found.asked.model, found.timed, lines(path)
    some = [every[number] for number in affordable([*ways.values()])]
    texts = token_ids(chosen.folder, some, longest=model.longest)
    both, why = readers(chosen.folder, model)
    with foreign(chosen.name), held("cpu"), bar() as show:
        times = trial(
            {name: one.way for name, one in ways.items()},
            texts,
            both,
            clock_for("cpu"),
            progress=lambda share: show(Progress("timing every way", share, 1.0)),
        )
    return tried(found, times, lengths=[len(text) for text in texts], not_run=why)
