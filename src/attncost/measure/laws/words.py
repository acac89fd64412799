"""What the terms of a law are called: one row a term, for all that is said and drawn of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """What one term is called.

    Attributes:
        short: In a list or a picture.
        begins: At the beginning of a sentence.
        letters: In an equation; the constant is a number there.
        counts: What it counts.
        varies: What differs between runs that tell it from the terms that it may grow like:
            `heads`, `width`, `lengths` or `batch`; empty if nothing need tell it.
        runs: Which runs those are, in a sentence.
    """

    short: str
    begins: str
    letters: str = ""
    counts: str
    varies: str = ""
    runs: str = ""


WORDS: Final[Mapping[str, Words]] = {
    "constant": Words(short="constant", begins="The constant", counts="calls"),
    "linear": Words(
        short="linear part",
        begins="The linear part",
        letters="linear(n)",
        counts="FLOPs that grow with the length alone",
        varies="batch",
        runs=(
            "The linear part is the same at all of these lengths, so no fit tells its time from "
            "the constant: measure other numbers of sequences as well."
        ),
    ),
    "core": Words(
        short="attention",
        begins="Attention",
        letters="core(n)",
        counts="FLOPs between queries and keys",
        varies="width",
        runs=(
            "Linear part and attention grow alike at these lengths, so no fit tells their times "
            "apart: measure other widths at the same lengths, and compare the rates."
        ),
    ),
    "flops": Words(short="all FLOPs", begins="All FLOPs", letters="FLOPs(n)", counts="FLOPs"),
    "bytes": Words(
        short="bytes",
        begins="Bytes by formula",
        letters="bytes(n)",
        counts="bytes by formula",
        varies="heads",
        runs=(
            "FLOPs and bytes grow alike at these lengths, so no fit tells their times apart: "
            "measure the same d_model with other numbers of heads, which changes bytes alone, and "
            "compare the rates of attention."
        ),
    ),
    "faults": Words(
        short="page faults",
        begins="Page faults",
        letters="faults(n)",
        counts="page faults",
        varies="lengths",
        runs=(
            "Page faults and FLOPs grow alike at these lengths, so no fit tells their times apart: "
            "measure lengths below 32 MiB a block of memory as well, where none occur."
        ),
    ),
    # All of them at once, where another law begins.
    "all": Words(short="every term", begins="Every call", counts="calls"),
}
# What a law counts beside FLOPs.
FURTHER: Final = ("bytes", "faults")


def listed(names: Sequence[str], *, last: str = "and") -> str:
    """Write names one after the other.

    >>> listed(["n", "n²", "n³"], last="or")
    'n, n² or n³'
    """
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end
