"""Pages of the site that are made from source files: one for each pattern, and their overview.

MkDocs calls these hooks. Nothing lists the patterns: a new file in `attncost/patterns` gets its
page and its place in the navigation by being found.
"""

from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pattern_pages import Page, overview

from attncost import patterns

_SECTION: Final = "Patterns"
_FOLDER: Final = "patterns"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put a page for each pattern under its section of the navigation."""
    for entry in config.nav or ():
        if _SECTION in entry:
            entry[_SECTION] = [
                {"Overview": f"{_FOLDER}/index.md"},
                *({name: f"{_FOLDER}/{name}.md"} for name in patterns.names()),
            ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, which exist in memory only."""
    pages = [Page(name) for name in patterns.names()]
    texts = {"index": overview(pages), **{page.name: page.markdown for page in pages}}
    for name, text in texts.items():
        files.append(File.generated(config, f"{_FOLDER}/{name}.md", content=text))
    return files
