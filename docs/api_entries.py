"""One public name as Markdown: signature, docstring, members, source.

griffe reads the signature as it is written, and splits the docstring. What a class of ours takes
over from another public class is told there, not again.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import griffe
from griffe import Alias, Class, DocstringSectionKind, Function, Object, ParameterKind

Documented = Object | Alias

# Dimensions of one word look like names to griffe.
_ONE_AXIS: Final = re.compile(r"\[Tensor, (\w+)\]")
_DOCTEST: Final = re.compile(r"(?:^|(?<=\n\n))(>>> .*?)(?=\n\n|\Z)", re.DOTALL)
_WIDE: Final = 88
_LISTS: Final = {
    DocstringSectionKind.parameters: "Arguments",
    DocstringSectionKind.attributes: "Attributes",
    DocstringSectionKind.raises: "Raises",
    DocstringSectionKind.returns: "Returns",
    DocstringSectionKind.yields: "Yields",
}
_STARS: Final = {ParameterKind.var_positional: "*", ParameterKind.var_keyword: "**"}


def entry(name: str, found: Documented) -> str:
    """Return the section of a public name.

    Args:
        name: As users write it, such as `ac.Window`.
        found: What griffe knows of it.
    """
    target = found.final_target if isinstance(found, Alias) else found
    lines = [f"## {name} {{ #{anchor(name)} }}", *_signature(name, target), *_told(target)]
    if isinstance(target, Class):
        lines += [part for member in own_members(target) for part in _member(member)]
        lines += _taken_over(target)
    file = Path(str(target.filepath)).parts
    path = "/".join(("src", *file[file.index("attncost") :]))
    return "\n\n".join([*lines, f"Source: `{path}`, line {target.lineno}."])


def anchor(name: str) -> str:
    """Return the fragment that leads to a name: `ac.nn.Attention` is at `#nn-Attention`."""
    return name.removeprefix("ac.").replace(".", "-")


def first_sentence(found: Documented) -> str:
    """Return the first line of a docstring."""
    return found.docstring.value.partition("\n")[0] if found.docstring else ""


def own_members(kind: Class) -> list[Object]:
    """Return the public members that have a docstring and are no part of another class."""
    theirs = {name for parent in _parents(kind) for name in parent.members}
    return [
        member
        for name, member in kind.members.items()
        if not name.startswith("_") and name not in theirs and isinstance(member, Object)
        if member.docstring
    ]


def _parents(kind: Class) -> list[Class]:
    return [parent for parent in kind.mro() if parent.path.startswith("attncost.")]


def _taken_over(kind: Class) -> Iterator[str]:
    parents = [parent.name for parent in _parents(kind)]
    if parents:
        yield f"And what `{'`, `'.join(parents)}` has."


def _member(member: Object) -> Iterator[str]:
    labels = "".join(f" ({what})" for what in ("property", "classmethod") if what in member.labels)
    yield f"### {member.name}{labels}"
    yield from _signature(member.name, member)
    yield from _told(member)


def _signature(name: str, found: Object) -> Iterator[str]:
    if isinstance(found, Class):
        # An interface is not called.
        parameters = [one for one in found.parameters if one.name != "self"]
        text = _called(name, parameters, returns="") if parameters else ""
    elif isinstance(found, Function):
        text = _called(name, found.parameters, returns=_written(found.returns))
    else:
        text = f"{name}: {_written(found.annotation)}" if found.annotation else ""  # type: ignore[attr-defined]  # a property
    if text:
        yield f"```python\n{text}\n```"


def _called(name: str, parameters: Iterable[griffe.Parameter], *, returns: str) -> str:
    """Return a signature in one line, or with a line for each parameter."""
    parts = list(_parameters(parameters))
    end = f") -> {returns}" if returns else ")"
    line = f"{name}({', '.join(parts)}{end}"
    if len(line) <= _WIDE:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), end])


def _parameters(parameters: Iterable[griffe.Parameter]) -> Iterator[str]:
    starred = False
    for one in parameters:
        if one.name in ("self", "cls"):
            continue
        if one.kind is ParameterKind.keyword_only and not starred:
            yield "*"
        starred |= one.kind in (ParameterKind.keyword_only, ParameterKind.var_positional)
        text = _STARS.get(one.kind, "") + one.name.lstrip("*")
        text += f": {_written(one.annotation)}" if one.annotation else ""
        if one.default is not None and one.kind not in _STARS:
            text += f" = {_written(one.default)}" if one.annotation else f"={_written(one.default)}"
        yield text


def _written(expression: object) -> str:
    """Return an expression of a signature, with the quotes of this house."""
    if expression is None:
        return ""
    return _ONE_AXIS.sub(r'[Tensor, "\1"]', str(expression)).replace("'", '"')


def _told(found: Object) -> Iterator[str]:
    """Give the parts of a docstring."""
    for section in found.docstring.parsed if found.docstring else ():
        if section.kind is DocstringSectionKind.text:
            yield _fenced(section.value)
        elif section.kind is DocstringSectionKind.examples:
            yield from (_fenced(text) for _, text in section.value)
        elif section.kind in _LISTS:
            yield f"{section.title or _LISTS[section.kind]}:"
            yield "\n".join(_items(section))


def _items(section: griffe.DocstringSection) -> Iterator[str]:
    for item in section.value:
        name = getattr(item, "name", "") or _written(item.annotation)
        text = " ".join(item.description.split())
        yield f"- `{name}`: {text}" if name else f"- {text}"


def _fenced(text: str) -> str:
    """Set examples as code."""
    return _DOCTEST.sub(r"```text\n\1\n```", text)
