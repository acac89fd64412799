"""Pages of the site that are made from notebooks, with the outputs that these were committed with.

An MkDocs hook: every `docs/notebooks/NAME.LANGUAGE.ipynb` becomes the page
`notebooks/NAME.LANGUAGE.html`, and stays beside it to be downloaded. Nothing is executed, so the
site builds in no time; `docs/notebooks/execute.py` writes outputs, and the suite compares them.
One honest limitation: of outputs, it knows text and SVG, the only kinds that notebooks here have.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from attncost.draw.markup import element, escaped

_FOLDER: Final = "notebooks"
_SVG: Final = "image/svg+xml"
# Between notebooks, links are to notebooks; between pages, to pages.
_LINK: Final = re.compile(r"\]\(([\w.-]+)\.ipynb\)")
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>")
_LANGUAGES: Final = {"en": "en", "zh": "zh-Hans"}
_DOWNLOAD: Final = {
    "en": "[Download this notebook]({0}) and run it: it needs no network. A cell marked *measured* "
    "shows one run on two shared cores; on your machine it shows other numbers.",
    "zh": "[下载这本笔记]({0})即可离线运行。标有*实测*的单元格展示的是在两个共享核心上的一次运行。"
    "你的机器会得出别的数字。",
}
_MEASURED: Final = {"en": "measured", "zh": "实测"}

Cell = dict[str, Any]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook."""
    for path in sorted(Path(config.docs_dir, _FOLDER).glob("*.ipynb")):
        files.append(File.generated(config, f"{_FOLDER}/{path.stem}.md", content=markdown(path)))
    return files


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Say in which language a page is written."""
    language = page.file.src_uri.removesuffix(".md").rpartition(".")[2]
    if not page.file.src_uri.startswith(f"{_FOLDER}/") or language not in _LANGUAGES:
        return output
    return output.replace('<html lang="en"', f'<html lang="{_LANGUAGES[language]}"', 1)


def markdown(path: Path) -> str:
    """Return the page of a notebook."""
    language = path.stem.rpartition(".")[2]
    cells: list[Cell] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first, *rest = ("".join(parts) for parts in (_shown(cell, language) for cell in cells))
    return "\n".join([first, _DOWNLOAD[language].format(path.name), "", *rest])


def _shown(cell: Cell, language: str) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield _LINK.sub(r"](\1.md)", source) + "\n"
        return
    yield f"\n```python\n{source}\n```\n"
    if "measured" in cell["metadata"].get("tags", ()):
        yield f"\n*{_MEASURED[language]}*\n"
    for output in cell["outputs"]:
        if "text" in output:
            yield f"\n{_printed(''.join(output['text']))}\n"
    pictures = ["".join(output["data"][_SVG]) for output in cell["outputs"] if "data" in output]
    if pictures:
        yield f"\n{_drawn(pictures)}\n"


def _printed(text: str) -> str:
    return element("pre", element("code", escaped(text.rstrip())), class_="printed")


def _drawn(pictures: list[str]) -> str:
    """Show a chart in its full width, and several pictures side by side."""
    if len(pictures) == 1:
        return _figure(pictures[0], class_="chart")
    side_by_side = element("div", *map(_figure, pictures), class_="pictures")
    # In a division of its own, for what follows pictures on other pages is laid out as a list.
    return element("div", side_by_side)


def _figure(picture: str, class_: str = "") -> str:
    title = _TITLE.search(picture)
    caption = element("figcaption", title[1]) if title else ""
    return element("figure", picture, caption, class_=class_)
