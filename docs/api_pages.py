"""Pages of the public names, made from `attncost/__init__.pyi` and docstrings.

A group is a folder of the package; that of a name is the longest that its module lies in. A folder
whose names are public under another one, such as `ac.nn`, has a group of its own. A new name is on
a page by being found; a new folder of the package needs a line here, or the site does not build.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final, final

import api_entries
import griffe

import attncost

# Each group: the folders or modules below attncost that it shows, and its title.
_GROUPS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "attention": ("Attention and its explanation", ("kernels",)),
    "patterns": ("Patterns: which keys a query reads", ("patterns",)),
    "mechanisms": ("Mechanisms: approximations, and formulas of others", ("mechanisms",)),
    "nn": ("Modules of PyTorch", ("nn",)),
    "hf": ("Hugging Face transformers", ("integrations.hf",)),
    "cost": ("What a layer or a model costs, by formula", ("cost",)),
    "counting": ("Counting the FLOPs of any module", ("cost.counting",)),
    "memory": ("Memory", ("cost.memory", "cost.kept", "cost.peak", "measure.held")),
    "planning": ("What fits, how fast, at what price", ("cost.planning",)),
    "batches": ("Batches of texts of unequal length", ("batches",)),
    "train": ("Training", ("train", "integrations.meter")),
    "measure": ("Profiles, and laws of time", ("measure",)),
    "view": ("Seeing attention", ("view",)),
    "core": ("Sizes, costs, errors, names", ("core", "names")),
}


@cache
def _package() -> griffe.Module:
    """Return the package as it is written; nothing is imported."""
    folder = Path(attncost.__file__).parents[1]
    package = griffe.load("attncost", search_paths=[folder], docstring_parser="google")
    assert isinstance(package, griffe.Module)
    return package


@cache
def public() -> dict[str, api_entries.Documented]:
    """Return everything public by how it is written, such as `ac.nn.Attention`."""
    found: dict[str, api_entries.Documented] = {}
    for name in attncost.__all__:
        one = _package().members[name]
        found[f"ac.{name}"] = one
        if one.is_module:
            found |= {f"ac.{name}.{key}": _home(path) for key, path in one.imports.items()}
    return found


def _home(path: str) -> api_entries.Documented:
    """Return what an import leads to; a file may have the name of what it defines."""
    folder, _, name = path.removeprefix("attncost.").rpartition(".")
    further = _package()[folder].imports.get(name)
    return _home(further) if further else _package()[f"{folder}.{name}"]


def names() -> tuple[str, ...]:
    """Return the groups."""
    return tuple(_GROUPS)


@final
@dataclass(frozen=True)
class Page:
    """The page of a group."""

    name: str

    @property
    def title(self) -> str:
        """What the group is called."""
        return _GROUPS[self.name][0]

    @cached_property
    def entries(self) -> dict[str, api_entries.Documented]:
        """What is on the page: functions, then classes."""
        mine = {
            name: one
            for name, one in public().items()
            if group_of(one) == self.name and not one.is_module
        }
        return dict(sorted(mine.items(), key=lambda item: item[1].is_class))

    @property
    def markdown(self) -> str:
        """The whole page."""
        spaces = [one for one in public().values() if one.is_module and group_of(one) == self.name]
        told = [one.docstring.value for one in spaces if one.docstring]
        rows = "\n".join(
            f"| [`{name}`](#{api_entries.anchor(name)}) | {api_entries.first_sentence(one)} |"
            for name, one in self.entries.items()
        )
        entries = (api_entries.entry(name, one) for name, one in self.entries.items())
        table = f"| name | what it is |\n|:--|:--|\n{rows}"
        return "\n\n".join([f"# {self.title}", *told, table, *entries])


def group_of(one: api_entries.Documented) -> str:
    """Return the group whose folder lies nearest to a name's home."""
    home = one.canonical_path.removeprefix("attncost.")
    fits = {
        len(folder): group
        for group, (_, folders) in _GROUPS.items()
        for folder in folders
        if f"{home}.".startswith(f"{folder}.")
    }
    if not fits:
        raise LookupError(f"docs/api_pages.py: no group has a folder that {home} lies in.")
    return fits[max(fits)]


def overview(pages: Iterable[Page]) -> str:
    """Return the page that lists everything."""
    return "\n".join(_overview(pages))


def _overview(pages: Iterable[Page]) -> Iterator[str]:
    yield "# Public names\n"
    yield (
        "Everything that `import attncost as ac` offers. `ac` loads nothing until it is used, so "
        "the import takes no time. What these names promise: "
        "[Stability of the API](../api-stability.md)."
    )
    for page in pages:
        listed = (f"[`{name}`]({page.name}.md#{api_entries.anchor(name)})" for name in page.entries)
        yield f"\n## [{page.title}]({page.name}.md)\n"
        yield ", ".join(listed) + "."
