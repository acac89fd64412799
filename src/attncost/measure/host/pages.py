"""Pages of memory: whether they are of 2 MiB instead of 4 KiB, which spares most page faults."""

from pathlib import Path

from attncost.measure.host.files import ROOT, fields, read


def huge_pages(root: Path = ROOT) -> str | None:
    """Return who gets huge pages, `always`, `madvise` or `never`; None if not told."""
    if fields(read(root / "proc/self/status")).get("THP_enabled") == "0":
        return "never, for this process"
    return _chosen("enabled", root)


def defragmented(root: Path = ROOT) -> str | None:
    """Return who waits until there is one, by the word of Linux; None if not told."""
    return _chosen("defrag", root)


def _chosen(file: str, root: Path) -> str | None:
    """Return the word in brackets, as in `always [madvise] never`."""
    said = read(root / "sys/kernel/mm/transparent_hugepage" / file)
    return said.partition("[")[2].partition("]")[0] or None
