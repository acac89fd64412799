"""`attncost maps`: what the heads of a model attend to, as one page that needs nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from attncost.cli._command import changed, command
from attncost.cli._looked import Choice, Looked, looked
from attncost.cli._output import check_writable, write
from attncost.cli._printed import printed, shown
from attncost.cli._ranges import layer_choice, ranges
from attncost.cli._specimen import specimen_of
from attncost.core.errors import ShapeError

_PAGE: Final = Path("attncost-maps.html")


def maps(
    model: Annotated[
        str, typer.Argument(help="demo, a folder with weights, package.module:factory")
    ] = "demo",
    text: Annotated[
        Path | None, typer.Option(help="a text, one sequence; an example, if left out")
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="each line a document, in one row with borders")
    ] = False,
    length: Annotated[
        int | None,
        typer.Option(help="tokens to read; as many as the model reads, up to 1024, if left out"),
    ] = None,
    image: Annotated[
        Path | None, typer.Option(help="for a model of images: a file, or .npy (h, w, 3) in bytes")
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="such as 0,3-5, or a name such as 'decoder.*'; all")
    ] = None,
    heads: Annotated[str | None, typer.Option(help="such as 0-3; all, if left out")] = None,
    no_prices: Annotated[
        bool, typer.Option("--no-prices", help="no windows swapped in: the model runs once")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help=f"where the page goes; {_PAGE}, if left out"),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="a picture of one head, with --layers and --heads")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="the same in pixels")] = None,
    query: Annotated[
        int | None, typer.Option(help="a token to mark in that picture, from the end if negative")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, every digit")] = False,
) -> None:
    """See what the heads of a model attend to, exactly, with what a window would cost each.

    For instance: attncost maps demo --text book.txt -o maps.html
    """
    from attncost.report.maps_summary import maps_document, maps_title

    given = {"text": text, "lines": lines, "length": length, "image": image, "layers": layers}
    given |= {"heads": heads, "no_prices": no_prices, "output": output, "svg": svg, "png": png}
    again = command("maps", [model], changed(maps, given | {"query": query}))
    pictures = {option: path for option, path in (("--svg", svg), ("--png", png)) if path}
    page = output or (None if pictures else _PAGE)
    choice = Choice(
        layers=layer_choice(layers),
        heads=None if heads is None else ranges(heads, of="--heads"),
        prices=not no_prices and page is not None,
        page=page is not None,
    )
    _check_pictures(choice, pictures, query)
    _check_apart({"-o": page, **pictures})
    if page:
        check_writable(page)
    for option, path in pictures.items():
        check_writable(path, option=f"{option} FILE")
    found = looked(specimen_of(model, text=text, apart=lines, length=length, image=image), choice)
    title = maps_title(found.heads)
    if page:
        found.maps(title=title, command=again).save(page)
    if pictures:
        _draw(found, pictures, title=title, query=query)
    files = [*([page] if page else []), *pictures.values()]
    sizes = {str(path): path.stat().st_size for path in files}
    document = maps_document(found.heads, files=sizes, command=again)
    if as_json:
        printed(document, as_json=True)
        return
    printed(document, as_json=False)
    for path in files:
        what = "page" if path is page else "picture"
        typer.echo(shown(f"The {what} ({_size(path)}): {path.resolve()}"))


def _draw(found: Looked, pictures: dict[str, Path], *, title: str, query: int | None) -> None:
    """Write pictures of the one head that was seen."""
    from attncost.view.maps.pictures.picture import picture

    layers = [*found.captured]
    if len(layers) != 1:
        raise ShapeError(
            f"a picture shows one head, and --layers chose {len(layers)}: name one of "
            f"{', '.join(layers)}."
        )
    seen = found.captured.last(layers[0])
    (head,) = seen.heads
    drawn = picture(seen, head, tokens=found.specimen.tokens, query=query, title=title)
    for option, path in pictures.items():
        write(path, drawn.svg() if option == "--svg" else drawn.png(), option=f"{option} FILE")


def _check_apart(files: Mapping[str, Path | None]) -> None:
    """Refuse a file that would be written over another one."""
    options: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        first = options.setdefault(path.resolve(), option)
        if first != option:
            raise ShapeError(
                f"{first} and {option} both write {path}: choose another for {option}."
            )


def _check_pictures(choice: Choice, pictures: dict[str, Path], query: int | None) -> None:
    """Refuse a picture of more than one head."""
    if not pictures:
        if query is not None:
            raise ShapeError("--query marks a token in a picture: add --svg FILE or --png FILE.")
        return
    layers, heads = choice.layers, choice.heads
    one = isinstance(layers, str) or (layers is not None and len(layers) == 1)
    if not one or heads is None or len(heads) != 1:
        first = next(iter(pictures))
        raise ShapeError(
            f"{first} shows one head: name it, such as --layers 3 --heads 7, or leave {first} out."
        )


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 10**6:,.1f} MB" if size >= 10**5 else f"{size / 10**3:,.1f} kB"
