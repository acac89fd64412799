"""The document of a trained comparison: what each attention learns, and what that costs."""

from dataclasses import asdict
from typing import Any, Final

from attncost.report.document import Document, Section
from attncost.report.quality.task_charts import by_flops, by_time, curves, shown
from attncost.report.quality.task_findings import Again, task_findings
from attncost.report.quality.task_tables import costs, differences, runs, scores, times
from attncost.train.quality.tasks.study import Judged, Study
from attncost.train.tasks import spelling

_SCHEMA: Final = "attncost.quality/1"
_CAUTION: Final = (
    "Small models on one task: what an attention loses here it may learn to do without in a larger "
    "model, and what it keeps it may lose on longer sequences."
)


def task_document(study: Study, again: Again) -> Document:
    """Return what was found.

    Args:
        study: It.
        again: Returns the command that trains some of the attentions.
    """
    command = again(list(study.asked.attentions))
    return Document(
        schema=_SCHEMA,
        title=f"{spelling(study.asked.task)}: what each attention learns, and what it costs",
        subtitle=_subtitle(study),
        command=command,
        findings=task_findings(study, again),
        sections=_sections(study, command),
        facts=_facts(study),
    )


def _sections(study: Study, command: str) -> tuple[Section, ...]:
    learning = curves(study, command)
    return (
        Section(
            title="Quality against cost",
            text=(_CAUTION, *_equal(study), *_left_out(study)),
            blocks=(
                by_flops(study, scores(study, command)),
                by_time(study, times(study, command)),
                *((differences(study, command),) if any(one.gain for one in study.judged) else ()),
                costs(study, command),
            ),
        ),
        Section(
            title="While it learned",
            blocks=(*((learning,) if learning else ()), runs(study, command)),
        ),
        Section(title="Repeat it", text=(command, study.asked.task.source)),
    )


def _subtitle(study: Study) -> str:
    asked = study.asked
    sizes, recipe = asked.sizes, asked.recipe
    return (
        f"{_many(asked.seeds, 'seed')}, {_many(recipe.steps, 'step')} of {recipe.batch:,} "
        f"sequences of {asked.task.length:,} tokens, learning rate {recipe.learning_rate:g}; "
        f"d_model {sizes.d_model:,}, {_many(sizes.layers, 'layer')}, {_many(sizes.heads, 'head')}"
    )


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _equal(study: Study) -> tuple[str, ...]:
    """Say so where a mask saves nothing at this length."""
    base = study.base.price
    same = [
        one.name
        for one in study.judged
        if one is not study.base
        and one.price.useful < base.useful
        and one.price.executed >= base.executed
    ]
    if not same:
        return ()
    return (
        f"At {study.asked.task.length:,} tokens the kernels multiply as much for "
        f"{'; '.join(same)} as for {study.base.name}: a sequence this short is one block. Useful "
        "FLOPs say what a longer one could save; attncost derive says from which length.",
    )


def _left_out(study: Study) -> tuple[str, ...]:
    left = len(study.judged) - len(shown(study))
    return (f"The charts leave out the {left} worst of them.",) if left else ()


def _facts(study: Study) -> dict[str, Any]:
    asked = study.asked
    return {
        "task": spelling(asked.task),
        "source": asked.task.source,
        "metric": asked.task.metric,
        "chance": asked.task.chance,
        "seeds": asked.seeds,
        "settings": asked.settings,
        "base": asked.base,
        "sequences": study.sequences,
        "not_beaten": {"flops": list(study.by_flops), "time": list(study.by_time)},
        "attentions": [_judged(study, one) for one in study.judged],
        "environment": dict(study.environment),
    }


def _judged(study: Study, one: Judged) -> dict[str, Any]:
    return {
        "attention": one.name,
        "score": asdict(one.score),
        "worst_seed": study.worst(one).seed,
        "best_seed": study.best(one).seed,
        "gain": one.gain and asdict(one.gain),
        "price": asdict(one.price),
        "time": asdict(one.time),
        "runs": [asdict(run) for run in one.runs],
    }
