"""What a trained comparison found, in sentences: what is lost, for what, and what is not beaten.

Each carries the command that trains just what it speaks of.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from attncost.core.units import show
from attncost.report.document import Finding
from attncost.report.quality.task_words import apart, around, ends, level, ordered
from attncost.train.quality.tasks.study import Judged, Study

# Returns the command that trains some of the attentions.
Again: TypeAlias = Callable[[Sequence[str]], str]


def task_findings(study: Study, again: Again) -> tuple[Finding, ...]:
    """Return them: what diverged, the base, then others from the best to the worst."""
    base, *others = ordered(study)
    return (
        *_diverged(study, again),
        _base(study, base, again),
        *(_other(study, one, again) for one in others),
        *_fronts(study, again),
    )


def _base(study: Study, base: Judged, again: Again) -> Finding:
    task = study.asked.task
    guess = f"guessing has {level(task, task.chance)}"
    return Finding(
        key=_key(base.name),
        text=(f"{base.name} gets {level(task, base.score.value)} ({_sure(study, base)}; {guess})."),
        values={"score": base.score.value, "chance": task.chance},
        command=again([base.name]),
    )


def _other(study: Study, one: Judged, again: Again) -> Finding:
    base, task = study.base, study.asked.task
    gain = one.gain
    flops, time = one.price.executed / base.price.executed, one.time.ratio
    paid = (
        f"{show(flops, 'times')} its executed FLOPs of attention and "
        f"{show(time.figure, 'times')} ({time.low:.2f} to {time.high:.2f}) its forward time"
    )
    return Finding(
        key=_key(one.name),
        text=f"{one.name} gets {level(task, one.score.value)}, {_beside(study, one)}, for {paid}.",
        values={
            "score": one.score.value,
            "gain": gain and gain.value,
            "gain_low": gain and gain.low,
            "gain_high": gain and gain.high,
            "flops_ratio": flops,
            "time_ratio": time.figure,
        },
        command=again([base.name, one.name]),
    )


def _beside(study: Study, one: Judged) -> str:
    """Say how far it is from the base, and whether seeds tell that from nothing."""
    gain, task, name = one.gain, study.asked.task, study.base.name
    if gain is None:
        lost = study.base if study.base.diverged else one
        return f"which cannot be compared with {name} as {lost.name} diverged"
    far = apart(task, gain.value)
    if gain.value == 0:
        return f"the same as {name}"
    word = "better" if gain.value > 0 else "worse"
    if gain.low is None or gain.high is None:
        return f"{far} {word} than {name} (one seed, no interval)"
    if not gain.settled:
        return f"which {study.asked.seeds} seeds do not tell from {name} ({far} {word})"
    low, high = sorted((abs(gain.low), abs(gain.high)))
    return f"{far} ({ends(task, low, high)}) {word} than {name}"


def _sure(study: Study, one: Judged) -> str:
    return "diverged, no interval" if one.diverged else around(study.asked.task, one.score)


def _fronts(study: Study, again: Again) -> Iterator[Finding]:
    if len(study.judged) == 1:
        return
    what = {
        "not_beaten_by_flops": ("executed FLOPs of attention", study.by_flops),
        "not_beaten_by_time": ("forward time", study.by_time),
    }
    for key, (cost, names) in what.items():
        if not names:
            continue
        yield Finding(
            key=key,
            text=f"Not beaten in both quality and {cost}: {'; '.join(names)}.",
            values={"attentions": list(names)},
            command=again(list(study.asked.attentions)),
        )


def _diverged(study: Study, again: Again) -> Iterator[Finding]:
    for one in study.judged:
        lost = list(one.diverged)
        if lost:
            yield Finding(
                key=f"diverged_{_key(one.name)}",
                text=(
                    f"The loss of {one.name} stopped being finite in {len(lost)} of "
                    f"{len(one.runs)} {'run' if len(one.runs) == 1 else 'runs'}, which "
                    f"{'counts' if len(lost) == 1 else 'count'} as guessing."
                ),
                values={"seeds": lost},
                command=again([one.name]),
            )


def _key(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")
