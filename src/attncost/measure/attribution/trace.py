"""One call as a file that Perfetto and `chrome://tracing` open.

The format is the Trace Event Format of Chromium: complete events (`X`) in microseconds, nested
within their thread. PyTorch writes such a file, too; this one has modules by the names that they
have in the model, and says of each node of the backward pass which module it works for.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attncost.core.files import put
from attncost.measure.attribution.places import Place
from attncost.measure.attribution.spans import BACKWARD, MODULE, ROUND, Span

_PROCESS: Final = 1
_OURS: Final = {ROUND: "the call", BACKWARD: "the backward pass"}


def write_trace(
    path: Path, spans: Sequence[tuple[Span, Place]], classes: Mapping[str, str]
) -> None:
    """Write spans to a file.

    Args:
        path: The file.
        spans: What ran, and for which modules.
        classes: The class of each module by name.

    Raises:
        StorageError: If it cannot be written.
    """
    trace = {"traceEvents": list(_events(spans, classes)), "displayTimeUnit": "ms"}
    content = json.dumps(trace, separators=(",", ":")).encode()
    put(path, content, give="name a file in a folder that exists and can be written to")


def _events(
    spans: Sequence[tuple[Span, Place]], classes: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    begin = min((span.start for span, _ in spans), default=0)
    for number, thread in enumerate(dict.fromkeys(span.thread for span, _ in spans)):
        called = "the thread of the call" if number == 0 else f"another thread ({thread})"
        yield {"ph": "M", "name": "thread_name", "pid": _PROCESS, "tid": thread} | {
            "args": {"name": called}
        }
    for span, place in spans:
        yield {
            "ph": "X",
            "name": _name(span, classes),
            "cat": _category(span, place),
            "pid": _PROCESS,
            "tid": span.thread,
            "ts": (span.start - begin) / 1000,
            "dur": (span.end - span.start) / 1000,
            "args": _more(span, place),
        }


def _name(span: Span, classes: Mapping[str, str]) -> str:
    if not span.name.startswith(MODULE):
        return _OURS.get(span.name, span.name)
    name = span.name.removeprefix(MODULE)
    return f"{name} ({classes.get(name, 'module')})" if name else classes[name]


def _category(span: Span, place: Place) -> str:
    if span.name.startswith(MODULE):
        return "module"
    return "call" if span.name in _OURS else place.kind or "operator"


def _more(span: Span, place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {"module": place.modules[-1] if place.modules else None}
    found |= {"pass": "backward" if place.backward else "forward"}
    if span.shapes:
        found["shapes"] = span.shapes
    if span.kernels:
        found["kernels_us"] = span.kernels / 1000
    return found
