"""`attncost calculator`: one page with sliders over the formulas, which needs nothing else."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from attncost.cli._calibration import rates_in
from attncost.cli._output import check_writable, write
from attncost.cli._printed import shown
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.cost.planning.speed import Rates

_PAGE: Final = Path("attncost-calculator.html")
_PORTS: Final = 1 << 16


def calculator(
    model: Annotated[
        str | None,
        typer.Argument(help="to start with: demo, a layer, a folder, a preset; llama-3-8b"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help=f"where the page goes; {_PAGE}, if left out"),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="show it at 127.0.0.1 until Ctrl-C, write no file")
    ] = False,
    port: Annotated[int, typer.Option(help="of --serve; 0 for any that is free")] = 0,
    calibration: Annotated[
        Path | None, typer.Option(help="rates that were measured here, for times")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print what the page knows, write no page")
    ] = False,
) -> None:
    """Turn lengths, sizes and kernels, and see cost, memory, time and what fits at once.

    For instance: attncost calculator llama-3-8b -o page.html
    """
    import json

    from attncost.report.calculator.render import page

    _check(output, serve=serve, port=port, as_json=as_json)
    target = output or _PAGE
    if not (serve or as_json):
        check_writable(target)
    header = _header(model, None if calibration is None else rates_in(calibration))
    if as_json:
        typer.echo(json.dumps(header, ensure_ascii=False))
    elif serve:
        _serve(page(header), port)
    else:
        content = page(header)
        write(target, content)
        size = f"{len(content.encode()) / 1000:,.1f} kB"
        said = f"The page ({size}, starts with {header['model']}): {target.resolve()}"
        typer.echo(shown(said))


def _check(output: Path | None, *, serve: bool, port: int, as_json: bool) -> None:
    """Refuse what does not go together."""
    if serve and as_json:
        raise ShapeError("--serve shows the page and --json prints its data: leave one out.")
    if output is not None and (serve or as_json):
        said = "--serve" if serve else "--json"
        raise ShapeError(f"{said} writes no page: leave -o out, or leave {said} out.")
    if port and not serve:
        raise ShapeError("--port is where --serve listens: add --serve.")
    if not 0 <= port < _PORTS:
        raise ShapeError(f"--port must lie between 0 and {_PORTS - 1:,}, got {port}.")


def _header(model: str | None, calibration: "Rates | None") -> dict[str, Any]:
    from attncost.integrations.sizes import sized
    from attncost.report.calculator.exported import exported

    if model is None:
        return exported(calibration=calibration)
    found = sized(model)
    return exported(found.configuration, name=found.name, calibration=calibration)


def _serve(content: str, port: int) -> None:
    from attncost.report.calculator.render import policy
    from attncost.report.calculator.server import HOST, served

    with served(content, port=port, policy=policy()) as server:
        typer.echo(f"http://{HOST}:{server.server_address[1]}/ until Ctrl-C")
        server.serve_forever()
