"""Options that were given twice, of which the last one would win in silence."""

from collections.abc import Sequence

import typer

from attncost.core.errors import ShapeError


def check_once(app: typer.Typer, words: Sequence[str]) -> None:
    """Refuse an option that takes one value and was given two.

    Args:
        app: The command.
        words: What was typed after its name.

    Raises:
        ShapeError: If there is one.
    """
    commands = getattr(typer.main.get_command(app), "commands", {})
    if not words or words[0] not in commands:
        return
    taking = _taking_one(commands[words[0]])
    given: set[str] = set()
    rest = iter(words[1:])
    for word in rest:
        if word == "--":
            return
        typed, equals, _ = word.partition("=")
        name = taking.get(typed)
        if name is None:
            continue
        if name in given:
            raise ShapeError(f"{name} is given twice: give it once.")
        given.add(name)
        if not equals:
            next(rest, None)  # its value, which may look like an option


def _taking_one(command: object) -> dict[str, str]:
    """Return how the options of one value are typed, with the name of each."""
    return {
        typed: parameter.opts[0]
        for parameter in getattr(command, "params", ())
        for typed in parameter.opts
        if typed.startswith("-") and not (parameter.multiple or parameter.is_flag)
    }
