"""Every command with its options, as they are found, and a request of each that would be quick."""

from dataclasses import dataclass
from pathlib import Path

import typer

from attncost.cli import app
from attncost.cli._guarded import WRITTEN

RUN = str(Path(__file__).parents[1] / "data/run-1")
LAYER = "layer:d_model=16,heads=2"
# What each command is asked beside the hostile option; a new command needs a line here.
USUAL = {
    "calculator": [],
    "check": [LAYER, "--write"],
    "count": [LAYER, "--length", "8"],
    "derive": ["full"],
    "doctor": [LAYER],
    "export": [RUN, "--output", "table.csv"],
    "fit": [RUN],
    "maps": ["demo", "--layers", "0", "--heads", "0"],
    "measure": [LAYER, "--lengths", "8"],
    "plan": ["llama-3-8b", "--memory", "H100"],
    "profile": [LAYER],
    "quality": ["recall"],
    "report": [LAYER, "--no-measure"],
}
# What takes the place of it, where an option means nothing beside that.
INSTEAD = {
    "count --tokens-per-second": ["count", LAYER, "--peak", "1T"],
    "fit --chart": ["fit", RUN, "--subject", "full, fused qkv"],
    "fit --d-model": ["fit", "table.csv"],
    "measure --resume": ["measure"],
    "quality --length": ["quality", "demo"],
    "quality --text": ["quality", "demo", "--attention", "window:width=4"],
    "quality --texts": ["quality", "demo"],
    "report --budget": ["report", LAYER],
    "report --calibration": ["report", LAYER],
    "report --lengths": ["report", LAYER],
    "report --rounds": ["report", LAYER],
    "report --run": ["report", LAYER],
}


@dataclass(frozen=True)
class Option:
    """An option that takes a value."""

    command: str
    name: str
    typed: str
    kind: type

    def __str__(self):
        return f"{self.command} {self.typed}"

    def words(self, value):
        """Return a command whose only mistake is this value."""
        usual = INSTEAD.get(str(self)) or [self.command, *without(USUAL[self.command], self.typed)]
        return [*usual, f"{self.typed}={value}"]


def without(words, typed):
    """Leave out an option that is going to be given."""
    if typed not in words:
        return words
    at = words.index(typed)
    return [*words[:at], *words[at + 2 :]]


def found():
    """Give every option of every command that takes a value."""
    commands = typer.main.get_command(app).commands
    for command, one in sorted(commands.items()):
        for parameter in one.params:
            typed = next((one for one in parameter.opts if one.startswith("--")), None)
            if typed is None or parameter.is_flag or typed == "--help":
                continue
            yield Option(command, parameter.name, typed, parameter.type_descriptor.annotation)


OPTIONS = list(found())
FOLDERS = ("measure --output", "measure --resume", "quality --folder", "report --run")
WRITTEN_FILES = [one for one in OPTIONS if one.name in WRITTEN and str(one) not in FOLDERS]
READ_FILES = [
    one
    for one in OPTIONS
    if one.kind is Path and one.name not in WRITTEN and str(one) not in FOLDERS
]
NUMBERS = [one for one in OPTIONS if one.kind in (int, float)]
