"""`attncost doctor`: what defaults waste on this machine, measured, and how to undo the advice."""

from typing import Annotated

import typer

from attncost.cli._cells import seconds
from attncost.cli._command import changed, command
from attncost.cli._patient import patient
from attncost.cli._printed import printed
from attncost.cli._progress import bar, held


def doctor(
    model: Annotated[
        str | None,
        typer.Argument(
            help="demo, a folder, package.module:factory; 512 features in 8 heads, if left out"
        ),
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="tokens; 2048 or what there is time for, if left out")
    ] = None,
    budget: Annotated[
        str, typer.Option(help="time after which no check begins, such as 20s or 2m")
    ] = "60s",
    only: Annotated[
        str | None, typer.Option(help="checks to run, such as fast_path,allocator")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> int:
    """Measure what defaults waste here, and say what to do; nothing is changed.

    Ends with 1 if a check failed, and with 0 whatever costs.

    For instance: attncost doctor layer:d_model=512,heads=8 --length 1024
    """
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.doctor.instruments import Instruments
    from attncost.measure.doctor.run import run_doctor, sized
    from attncost.measure.store.environment import environment
    from attncost.report.diagnosed import doctor_document

    names = None if only is None else [name.strip() for name in only.split(",")]
    examined = patient(model, length=length)
    wishes = changed(doctor, {"length": length, "budget": budget, "only": only})
    again, time = command("doctor", [model], wishes), seconds(budget, of="--budget")
    read = Instruments()
    with held("cpu"):
        examined = sized(examined, budget=time, only=names, instruments=read)
        with bar() as progress:
            found = run_doctor(
                examined, budget=time, only=names, instruments=read, progress=progress
            )
    document = doctor_document(
        found,
        name=examined.name,
        length=examined.length,
        environment=environment(clock_for("cpu"), command=again),
        command=again,
    )
    printed(document, as_json=as_json)
    return 1 if any(one.verdict == "failed" for one in found) else 0
