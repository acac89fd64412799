"""What a count may not show of a change: settings, and why a total is only an upper bound."""

from typing import Any

from attncost.cost.lock import Verdict
from attncost.report.document import Section


def unseen(verdict: Verdict) -> tuple[Section, ...]:
    """Return what to say of it; nothing if it is as it was."""
    lines = [f"{name}: {old} -> {new}" for name, (old, new) in verdict.settings.items()]
    if verdict.at_most is not None:
        words = ["; ".join(reasons) or "exact" for reasons in verdict.at_most]
        lines.append(f"useful was {_bound(words[0])}, and now is {_bound(words[1])}.")
    return (Section(title="Settings and bounds", text=tuple(lines)),) if lines else ()


def unseen_facts(verdict: Verdict) -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "settings": {name: list(pair) for name, pair in verdict.settings.items()},
        "at_most": None if verdict.at_most is None else [list(one) for one in verdict.at_most],
    }


def _bound(words: str) -> str:
    return words if words == "exact" else f"an upper bound ({words})"
