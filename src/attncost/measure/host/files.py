"""Files in which Linux describes itself; one that is not there says nothing.

Each reader takes a root, so that a test can describe a machine.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path("/")
_KIB: Final = 1024  # What Linux calls a kB.


def read(file: Path) -> str:
    """Return what a file says, without blanks around it; nothing if it cannot be read."""
    try:
        return file.read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def fields(text: str) -> dict[str, str]:
    """Return the values of lines such as `MemTotal:  9000 kB`, by name."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def sizes(file: Path) -> dict[str, int]:
    """Return the bytes of those lines of a file that say an amount, by name."""
    pairs = ((name, said.split()) for name, said in fields(read(file)).items())
    return {name: _KIB * int(words[0]) for name, words in pairs if words[1:] == ["kB"]}


def groups(controller: str, root: Path = ROOT) -> Iterator[Path]:
    """Yield the folder of each control group of this process, and of those around it.

    Args:
        controller: What they control, `cpu` or `memory`.
        root: Of the file system, for tests.
    """
    mounted = root / "sys/fs/cgroup"
    # Where it is not said which they are, it is the outermost, of either version.
    said = read(root / "proc/self/cgroup") or f"0::/\n1:{controller}:/"
    for line in said.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Version 1 has a folder for each controller, version 2 one for all.
        top = mounted / controller if controllers else mounted
        inside = top / path.lstrip("/")
        yield from (one for one in (inside, *inside.parents) if one.is_relative_to(top))
