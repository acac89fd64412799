"""What a check is: one question to this machine, answered by measuring both ways.

    ratio = time as it is / time with the advice, in interleaved rounds, with its 95 % interval

A check says what it measured even where nothing is to be gained, and it leaves everything as it
found it: advice is a line of code for people to run, beside the line that takes it back.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, final

from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.state import unchanged
from attncost.measure.sweep.interleaved import Ratio

Verdict: TypeAlias = Literal["costs", "fine", "cannot tell", "does not apply", "failed", "not run"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """One answer.

    Attributes:
        check: The name of the check.
        part: Which of its answers, if it gives several.
        what: What was measured, in a few words.
        verdict: What came of it.
        reason: Why, in a sentence.
        time: Time as it is over time with the advice; None if nothing was timed.
        clock: What counted the time.
        bytes_now: Peak memory as it is; None if it does not matter or nothing was measured.
        bytes_then: Peak memory with the advice.
        advice: What to do, as code; empty unless something costs.
        undo: What takes it back, as code.
        optional: Whether only code that asks for it pays, and not every call.
    """

    check: str
    what: str
    verdict: Verdict
    reason: str
    part: str = ""
    time: Ratio | None = None
    clock: str = ""
    bytes_now: int | None = None
    bytes_then: int | None = None
    advice: str = ""
    undo: str = ""
    optional: bool = False

    @property
    def key(self) -> str:
        """Its name among all answers."""
        return "_".join(filter(None, (self.check, self.part)))

    @property
    def memory(self) -> float | None:
        """Peak memory as it is over that with the advice."""
        return self.bytes_now / self.bytes_then if self.bytes_now and self.bytes_then else None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """What to do where something costs.

    Attributes:
        do: As code.
        undo: As code.
        because: Why the time goes there, a sentence for the case that it does.
        fine: A sentence for the case that it does not; a usual one, if left out.
    """

    do: str
    undo: str
    because: str
    fine: str = ""


class Check(ABC):
    """One question.

    Attributes:
        asks: The question, in a line.
        calls: It takes as long as so many naive attentions of the patient's sizes.
        seconds: And so many seconds beside, whatever the sizes, on a slow machine.
        blocks: It holds as much memory as so many n x n scores of all heads.
        optional: Whether it is about something that code must ask for, and usually does not.
        of_machine: Whether it is about the machine, and not about how attention is called.
    """

    asks: ClassVar[str]
    calls: ClassVar[float] = 0.0
    seconds: ClassVar[float] = 0.5
    blocks: ClassVar[float] = 0.0
    optional: ClassVar[bool] = False
    of_machine: ClassVar[bool] = False

    @property
    @final
    def name(self) -> str:
        """The name of its file."""
        return type(self).__module__.rpartition(".")[2]

    @final
    def examine(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Measure, say what came of it, and leave everything as it was."""
        with unchanged():
            return self.answers(patient, instruments)

    @abstractmethod
    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Measure, and say what came of it; what is switched meanwhile is switched back."""

    @final
    def judged(self, what: str, found: Comparison, advice: Advice, *, part: str = "") -> Diagnosis:
        """Return what a comparison with the remedy says."""
        costs, fine = found.verdict == "costs", found.verdict == "fine" and advice.fine
        because = f"{advice.because} {found.trade}".rstrip()
        return Diagnosis(
            check=self.name,
            part=part,
            what=what,
            verdict=found.verdict,
            reason=because if costs else advice.fine if fine else found.reason,
            time=found.time,
            clock=found.clock,
            bytes_now=found.bytes_now,
            bytes_then=found.bytes_then,
            advice=advice.do if costs else "",
            undo=advice.undo if costs else "",
            optional=self.optional,
        )

    @final
    def unasked(self, what: str, verdict: Verdict, reason: str, *, part: str = "") -> Diagnosis:
        """Return that nothing was timed, and why."""
        return Diagnosis(
            check=self.name,
            part=part,
            what=what,
            verdict=verdict,
            reason=reason,
            optional=self.optional,
        )
