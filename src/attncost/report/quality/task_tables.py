"""Tables of a trained comparison: scores, differences, costs, every run."""

from dataclasses import astuple
from typing import Any

from attncost.report.document import Column, Table
from attncost.report.quality.task_words import ordered, unit
from attncost.train.quality.tasks.study import Judged, Study


def scores(study: Study, command: str) -> Table:
    """Return how well each attention does, with the FLOPs that it takes."""
    task, of = study.asked.task, unit(study.asked.task)
    names = (task.metric, "from", "to", "worst", "best")
    return Table(
        title=f"{task.metric.capitalize()} and FLOPs",
        columns=(
            Column("attention"),
            *(Column(name, of) for name in names),
            Column("executed", "flops"),
        ),
        rows=tuple(_score(study, one) for one in ordered(study)),
        note=_scores_note(study),
        command=command,
    )


def _score(study: Study, one: Judged) -> tuple[Any, ...]:
    score, worst, best = one.score, study.worst(one).score, study.best(one).score
    return (one.name, score.value, score.low, score.high, worst, best, one.price.executed)


def _scores_note(study: Study) -> str:
    held = min(study.asked.held_out, len(study.asked.task.held_out(study.asked.held_out).tokens))
    interval = (
        "From, to: 95 % t-interval of the mean."
        if study.asked.seeds > 1
        else "One seed has no interval: add --seeds."
    )
    lost = " None where a run diverged." if any(one.diverged for one in study.judged) else ""
    return (
        f"On {held:,} sequences held out. {interval}{lost} Executed: by the kernels that run "
        "here, all layers, one sequence forward."
    )


def times(study: Study, command: str) -> Table:
    """Return what a forward pass takes."""
    return Table(
        title="Time of a forward pass",
        columns=(
            Column("attention"),
            Column("forward", "seconds"),
            *(Column(name, "times") for name in ("of base", "low", "high")),
        ),
        rows=tuple(_time(one) for one in ordered(study)),
        note=(
            f"A batch of {study.sequences:,}, one thread. Of base: over {study.base.name}, with a "
            f"95 % interval of {study.base.time.ratio.rounds} interleaved rounds; one that holds "
            "1 counts as the same time."
        ),
        command=command,
    )


def _time(one: Judged) -> tuple[Any, ...]:
    ratio = one.time.ratio
    return (one.name, one.time.seconds, ratio.figure, ratio.low, ratio.high)


def differences(study: Study, command: str) -> Table:
    """Return what each other attention gains on the base."""
    percent = unit(study.asked.task) == "percent"
    points, size = ("In points, s", 100) if percent else ("In nats, s", 1)
    return Table(
        title=f"Gain on {study.base.name}",
        columns=(Column("attention"), *(Column(name, "count") for name in ("gain", "from", "to"))),
        rows=tuple(
            (one.name, *(_scaled(end, size) for end in astuple(one.gain)))
            for one in ordered(study)
            if one.gain is not None
        ),
        note=(
            f"{points}eed by seed, over {study.base.name}; more is better. From, to: 95 % "
            f"t-interval of the mean.{_without(study)}"
        ),
        command=command,
    )


def _scaled(value: float | None, size: int) -> float | None:
    return None if value is None else size * value


def _without(study: Study) -> str:
    lost = [one.name for one in study.judged if one.diverged]
    return f" None for what diverged: {'; '.join(lost)}." if lost else ""


def costs(study: Study, command: str) -> Table:
    """Return what each attention costs by counting."""
    return Table(
        title="What each costs",
        columns=(
            Column("attention"),
            Column("useful", "flops"),
            Column("whole model", "flops"),
            Column("memory", "bytes"),
            Column("parameters", "exact"),
        ),
        rows=tuple(_cost(one) for one in ordered(study)),
        note=_costs_note(study),
        command=command,
    )


def _cost(one: Judged) -> tuple[Any, ...]:
    found = one.price
    return (
        one.name,
        found.useful,
        found.model_executed,
        found.peak_bytes,
        found.parameters,
    )


def _costs_note(study: Study) -> str:
    prices = [one.price for one in study.judged]
    least = "at least, " if any(one.peak_at_least for one in prices) else ""
    unpriced = " FLOPs: at least." if any(one.at_least for one in prices) else ""
    return (
        "One sequence forward. Useful: of the pairs that attention reads. Whole model: as "
        f"multiplied here.{unpriced} Memory: {least}of a training step on "
        f"{study.sequences:,} sequences."
    )


def runs(study: Study, command: str) -> Table:
    """Return every run."""
    task = study.asked.task
    return Table(
        title="Every run",
        columns=(
            Column("attention"),
            Column("seed", "exact"),
            Column(task.metric, unit(task)),
            Column("loss", "count"),
            Column("steps", "exact"),
            Column("training", "seconds"),
            Column("ended"),
        ),
        rows=tuple(
            (
                run.attention,
                run.seed,
                run.score,
                run.curve[-1][1] if run.curve else None,
                run.steps,
                run.seconds,
                "diverged" if run.diverged else "finished",
            )
            for one in ordered(study)
            for run in one.runs
        ),
        note="Loss: of the last training steps. Training: CPU time of one thread.",
        command=command,
    )
