"""Pages of the site that are made from source files: one for each pattern, mechanism and formula.

MkDocs calls these hooks. Nothing lists what there is: a new file in `attncost/patterns`,
`attncost/mechanisms` or `attncost/mechanisms/formulas` gets its page and its place in the
navigation by being found.
"""

from typing import Any, Final

import mechanism_pages
import pattern_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from attncost import patterns

# What a section is called: the names in it, what makes a page of one, and their overview.
_SECTIONS: Final[dict[str, tuple[Any, Any, Any]]] = {
    "Patterns": (patterns.names, pattern_pages.Page, pattern_pages.overview),
    "Mechanisms": (mechanism_pages.names, mechanism_pages.Page, mechanism_pages.overview),
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages under their sections of the navigation."""
    for entry in config.nav or ():
        for section, (names, _, _) in _SECTIONS.items():
            if section in entry:
                folder = section.lower()
                entry[section] = [
                    {"Overview": f"{folder}/index.md"},
                    *({name: f"{folder}/{name}.md"} for name in names()),
                ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, which exist in memory only."""
    for section, (names, made, overview) in _SECTIONS.items():
        pages = [made(name) for name in names()]
        texts = {"index": overview(pages), **{page.name: page.markdown for page in pages}}
        for name, text in texts.items():
            files.append(File.generated(config, f"{section.lower()}/{name}.md", content=text))
    return files
