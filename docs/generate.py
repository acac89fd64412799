"""Pages of the site that are made from source files: patterns, mechanisms, commands, public names.

MkDocs calls these hooks. Nothing lists what there is: a new file in `attncost/patterns`,
`attncost/mechanisms`, `attncost/mechanisms/formulas` or `attncost/cli`, or a new line in
`attncost/__init__.pyi`, gets its page and its place in the navigation by being found.
"""

from typing import Any, Final

import api_pages
import command_pages
import mechanism_pages
import pattern_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from attncost import patterns

# What a section is called: its folder, the names in it, what makes a page, and their overview.
_SECTIONS: Final[dict[str, tuple[str, Any, Any, Any]]] = {
    "Patterns": ("patterns", patterns.names, pattern_pages.Page, pattern_pages.overview),
    "Mechanisms": (
        "mechanisms",
        mechanism_pages.names,
        mechanism_pages.Page,
        mechanism_pages.overview,
    ),
    "Commands": ("commands", command_pages.names, command_pages.Page, command_pages.overview),
    "Public names": ("api", api_pages.names, api_pages.Page, api_pages.overview),
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages under their sections of the navigation."""
    _complete(config.nav or [])
    return config


def _complete(entries: list[Any]) -> None:
    """Fill the sections among some entries, and those below."""
    for entry in entries:
        for title, below in entry.items():
            if title in _SECTIONS:
                folder, names, _, _ = _SECTIONS[title]
                entry[title] = [
                    {"Overview": f"{folder}/index.md"},
                    *({name: f"{folder}/{name}.md"} for name in names()),
                ]
            elif isinstance(below, list):
                _complete(below)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, which exist in memory only."""
    for folder, names, made, overview in _SECTIONS.values():
        pages = [made(name) for name in names()]
        texts = {"index": overview(pages), **{page.name: page.markdown for page in pages}}
        for name, text in texts.items():
            files.append(File.generated(config, f"{folder}/{name}.md", content=text))
    return files
