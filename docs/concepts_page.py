"""The pictures of the page of concepts and of the first page, drawn from what they speak of.

An MkDocs hook: a comment `<!-- made: NAME -->` gives way to what `MADE` draws.
"""

from collections.abc import Callable
from typing import Final

import page_parts
import torch
from mkdocs.structure.pages import Page
from page_parts import charted

import attncost as ac
from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.draw.markup import element, escaped

_PAGES: Final = ("concepts.md", "index.md")
_D_MODEL, _HEADS, _HEAD_DIM = 512, 8, 64
_LENGTHS: Final = tuple(2**i for i in range(6, 16))
_KEYS: Final = 4096
_QUERIES: Final = (1, 8, 64, 512, 4096)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str | None:
    """Put pictures where a page asks for them."""
    name = page.file.src_uri
    return page_parts.filled(markdown, page, name=name, made=MADE) if name in _PAGES else None


def window() -> str:
    """Draw what full and windowed attention cost a layer over the length."""
    shown = {
        "full attention": ac.Full(),
        "a window of 128": ac.Window(width=128),
        "linear attention": ac.Linear(causal=True),
    }
    sizes = {"d_model": _D_MODEL, "heads": _HEADS}
    costs = {
        name: {n: ac.layer_cost(one, length=n, **sizes).useful for n in _LENGTHS}
        for name, one in shown.items()
    }
    times = costs["full attention"][_LENGTHS[-1]] / costs["a window of 128"][_LENGTHS[-1]]
    return charted(
        Chart(
            title=f"At {_LENGTHS[-1]:,} tokens full attention takes {times:.0f} times the FLOPs",
            description=f"FLOPs of a whole layer of {_D_MODEL} features in {_HEADS} heads, "
            "projections included, by formula.",
            x=Axis(label="tokens", unit="tokens"),
            y=Axis(label="FLOPs", unit="flops"),
            series=tuple(
                Series(name, tuple(Point(n, flops) for n, flops in points.items()))
                for name, points in costs.items()
            ),
            marks=(Mark(2 * _D_MODEL, "half is attention"),),
        ),
        "window",
    )


def patterns() -> str:
    """Draw four patterns among 16 tokens."""
    shown = (ac.Full(), ac.Causal(), ac.Window(width=4), ac.Block(size=4))
    return _side_by_side({page_parts.called(one, "pattern"): (one, 16, 16) for one in shown})


def widths() -> str:
    """Draw what width, ahead and alignment mean."""
    return _side_by_side(
        {
            "ac.Window(width=4): itself and 3 before": (ac.Window(width=4), 12, 12),
            "ac.Window(width=5, ahead=2): 2 on each side": (ac.Window(width=5, ahead=2), 12, 12),
            "ac.Causal(), 4 queries at the end of 12 keys": (ac.Causal(), 4, 12),
        }
    )


def counts() -> str:
    """Draw the three counts of a window over the length."""
    costs = {n: ac.explain(*_heads(n), ac.Window(width=256)).cost for n in _LENGTHS}
    return charted(
        Chart(
            title="Three counts of one call",
            description=f"FLOPs of a window of 256 keys, {_HEADS} heads of {_HEAD_DIM} features, "
            "by the kernel that ac.attention takes. Executed leaves dense where a kernel pays "
            "that skips hidden pairs.",
            x=Axis(label="tokens", unit="tokens"),
            y=Axis(label="FLOPs", unit="flops"),
            series=tuple(
                Series(name, tuple(Point(n, getattr(cost, name)) for n, cost in costs.items()))
                for name in ("dense", "executed", "useful")
            ),
        ),
        "counts",
    )


def takes_over() -> str:
    """Draw projections and attention over the length."""
    shares = {
        "projections, 8 n d²": lambda n: 8 * n * _D_MODEL**2,
        "attention, 4 n² d": lambda n: 4 * n * n * _D_MODEL,
    }
    return charted(
        Chart(
            title="n² takes over",
            description=f"FLOPs of the two parts of a layer of {_D_MODEL} features; they are the "
            f"same at {2 * _D_MODEL:,} tokens.",
            x=Axis(label="tokens", unit="tokens"),
            y=Axis(label="FLOPs", unit="flops"),
            series=tuple(
                Series(name, tuple(Point(n, cost(n)) for n in _LENGTHS))
                for name, cost in shares.items()
            ),
            marks=(Mark(2 * _D_MODEL, f"{2 * _D_MODEL:,} = 2 d"),),
        ),
        "takes-over",
    )


def roofline() -> str:
    """Draw calls of attention under the roof of a GPU."""
    gpu = ac.planning.device("H100")
    peak, ridge = gpu.peak("bfloat16"), gpu.ridge("bfloat16")
    points = []
    for n in _QUERIES:
        cost = ac.explain(*_heads(n, keys=_KEYS), ac.Causal()).cost
        intensity = cost.useful / cost.bytes
        points.append(Point(intensity, min(peak, intensity * gpu.bandwidth)))
    roof = (Point(0.5, 0.5 * gpu.bandwidth), Point(ridge, peak), Point(2048, peak))
    queries = ", ".join(f"{n:,}" for n in _QUERIES)
    return charted(
        Chart(
            title=f"Causal attention under the roof of an {gpu.title}",
            description="From left to right calls in bfloat16 with "
            f"{queries} queries at the end of {_KEYS:,} keys: the most FLOP/s that "
            f"{gpu.source} allows. The ridge is at {ridge:.0f} FLOPs a byte.",
            x=Axis(label="FLOPs for a byte"),
            y=Axis(label="FLOP/s", unit="rate"),
            series=(Series("roof", roof), Series("attention", tuple(points), "markers")),
        ),
        "roofline",
    )


def _heads(queries: int, *, keys: int | None = None) -> tuple[torch.Tensor, ...]:
    """Return inputs that have sizes and no numbers."""
    q, *kv = (
        torch.empty(1, _HEADS, n, _HEAD_DIM, dtype=torch.bfloat16, device="meta")
        for n in (queries, keys or queries, keys or queries)
    )
    return q, *kv


def _side_by_side(figures: dict[str, tuple[ac.Pattern, int, int]]) -> str:
    drawn = (
        element(
            "figure", pattern.svg(n, m), element("figcaption", element("code", escaped(caption)))
        )
        for caption, (pattern, n, m) in figures.items()
    )
    return element("div", *drawn, class_="pictures small")


MADE: Final[dict[str, Callable[[], str]]] = {
    "window": window,
    "patterns": patterns,
    "widths": widths,
    "counts": counts,
    "takes_over": takes_over,
    "roofline": roofline,
}
