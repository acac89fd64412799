"""A sweep in words alone: what another process needs to make its subjects, and `--resume` to go on.

A subject holds functions, which neither a pipe nor a file takes; the words that named it go
anywhere.
"""

import math
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any, final

from attncost.core.errors import AttnCostError, ShapeError
from attncost.measure.clocks.interface import Clock
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.subject import Subject
from attncost.measure.subjects.target import target
from attncost.measure.sweep.isolated import Isolated, Limits, check_groups
from attncost.measure.sweep.least import CALLS, least_seconds
from attncost.measure.sweep.plan import Plan
from attncost.measure.sweep.room import lack
from attncost.measure.sweep.runner import InProcess, Runner
from attncost.measure.sweep.written import made


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """Subjects as they are named on the command line.

    Attributes:
        model: What `target` understands.
        attentions: What computes attention; all there is if None.
        qkv: How a layer projects; all ways if None.
        kernels: In which kernels; `auto` if None.
    """

    model: str
    attentions: tuple[str, ...] | None = None
    qkv: tuple[str, ...] | None = None
    kernels: tuple[str, ...] | None = None

    def __call__(self) -> tuple[Subject, ...]:
        """Make them.

        Raises:
            ShapeError: If nothing can be timed, or not in this way.
            UnknownName: If something has no such name.
            UnsupportedOption: If none of them can run in a kernel.
        """
        return target(self.model).subjects(self.attentions, self.qkv, self.kernels)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """All that a sweep was asked for.

    Attributes:
        named: What runs.
        plan: In which cases, and how often.
        limits: Of cells in processes of their own; None if they run in this one.
    """

    named: Named
    plan: Plan
    limits: Limits | None = None

    def runner(self, clock: Clock) -> Runner:
        """Return where cells run."""
        here = InProcess(clock, lack)
        return (
            here if self.limits is None else Isolated(here, recipe=self.named, limits=self.limits)
        )

    def check(self, subjects: tuple[Subject, ...]) -> None:
        """Ask every formula and load every model, so that what cannot run is refused at once.

        What runs in a process of its own is not even looked at in this one.

        Raises:
            AttnCostError: If nothing can run.
        """
        if self.limits is not None:
            check_groups(len(subjects) * len(self.plan.series()))
            return
        refused = [
            error
            for subject in subjects
            for case in self.plan.series()
            if (error := self._refusal(subject, case))
        ]
        # A product of what was asked for may have holes, which become rows.
        if len(refused) == len(subjects) * len(self.plan.series()):
            raise refused[0]

    def _refusal(self, subject: Subject, case: Case) -> AttnCostError | None:
        try:
            with redirect_stdout(sys.stderr):
                predicted = [subject.predict(case.at(length)) for length in self.plan.lengths]
                # What is too long for the budget may be too large for the machine as well.
                if CALLS * least_seconds(case, predicted[0]) <= (self.plan.budget or math.inf):
                    subject.prepare(case)
        except AttnCostError as error:
            return error
        except Exception:  # noqa: BLE001 -- theirs, and the sweep makes it a row
            return None
        return None

    def written(self) -> dict[str, Any]:
        """Return it as the first row of a run holds it."""
        return {
            "named": asdict(self.named),
            "plan": self.plan.written(),
            "isolate": None if self.limits is None else asdict(self.limits),
        }

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> "Task":
        """Read it from the first row of a run.

        Raises:
            ShapeError: If that row does not say what was asked for.
        """
        try:
            isolate = environment.get("isolate")
            return cls(
                named=made(Named, environment.get("named"), of="named"),
                plan=Plan.of(environment.get("plan")),
                limits=None if isolate is None else made(Limits, isolate, of="isolate"),
            )
        except AttnCostError as error:
            reason = str(error).removesuffix(".")
            raise ShapeError(
                f"its first row does not say what was asked for ({reason}), so it cannot be gone "
                "on with: measure into a new folder."
            ) from error
