"""Pages of attention: ours, bertviz's and circuitsvis's on the same input."""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final

import torch
from benchmarks.in_browser import Opened, Page
from benchmarks.map_statistics import one_head
from benchmarks.promise import Promise, median_of_runs
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from attncost.integrations.pretrained import demo_folder
from attncost.patterns.causal import Causal
from attncost.view.capture.capture import capture
from attncost.view.maps.maps import maps
from attncost.view.seen import Seen

TEXT: Final = Path("examples/data/pride_and_prejudice.txt")
READY: Final = "attncost.ready"
LONG: Final = 8192
SIDE: Final = 256
# Megabytes and seconds that were promised, by page; and seconds of a tile and of a frame.
LIMITS: Final = {"one head": (4.0, 1.5), "MiniLM": (20.0, 3.0)}
TILE_LIMIT: Final = 0.030
FRAME_LIMIT: Final = 0.050
_TIMES: Final = 5
_WHEELS: Final = 60


@cache
def minilm() -> tuple[list[str], dict[str, Tensor]]:
    """Return tokens and weights of MiniLM on as much text as it reads: by layer (heads, n, n)."""
    tokens, captured = _captured()
    return tokens, {name: captured.last(name).weights()[0] for name in captured}


def our_minilm() -> str:
    """Return our page of all heads of MiniLM."""
    tokens, captured = _captured()
    return maps(captured, tokens=tokens, title="MiniLM").html()


def our_head(length: int = LONG) -> str:
    """Return our page of one causal head."""
    q, k, v = one_head(length)
    seen = Seen(name="head", q=q, k=k, v=v, pattern=Causal(), wishes={}, heads=(0,))
    return maps({"head": (seen,)}, title=f"One head of {length:,}").html()


def peers() -> dict[str, Callable[[], str]]:
    """Return what makes the pages of others of all heads of MiniLM, of those that are installed."""
    known: dict[str, Callable[[], str]] = {
        "bertviz, head view": partial(_bertviz, "head_view"),
        "bertviz, model view": partial(_bertviz, "model_view"),
        "circuitsvis, one layer": _circuitsvis,
    }
    return {name: made for name, made in known.items() if name.split(",")[0] not in absent()}


def absent() -> tuple[str, ...]:
    """Return whom there is nothing of."""
    return tuple(name for name in ("bertviz", "circuitsvis") if find_spec(name) is None)


def walked(page: Page) -> dict[str, Any]:
    """Compute tiles, and drive the wheel and the mouse over the open map, in seconds a frame."""
    tiles = page.evaluate(
        """async ([row, key, side, times]) => {
            const head = await attncost.head(0, 0);
            const taken = [];
            for (let i = 0; i < times; i++) {
                const begun = performance.now();
                head.tile(row + i, row + i + side, key, key + side);
                taken.push((performance.now() - begun) / 1000);
            }
            return taken;
        }""",
        [LONG // 2, LONG // 2 - 300, SIDE, 2 * _TIMES],
    )
    page.evaluate("attncost.go({layer: 0, head: 0, query: 5000, key: 4900, zoom: 4})")
    page.evaluate(
        """() => {
            globalThis.frames_seen = [];
            let last = performance.now();
            const frame = now => {
                frames_seen.push((now - last) / 1000);
                last = now;
                requestAnimationFrame(frame);
            };
            requestAnimationFrame(frame);
        }"""
    )
    box = page.locator("canvas[tabindex='0']").first.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    for step in range(_WHEELS):
        page.mouse.wheel(0, -80 if step % 20 < 10 else 80)
        page.wait_for_timeout(16)
    page.mouse.down()
    for step in range(_WHEELS):
        page.mouse.move(middle[0] - 3 * step, middle[1] - 2 * step)
        page.wait_for_timeout(16)
    page.mouse.up()
    return {"tiles": tiles, "frames": page.evaluate("frames_seen.slice(2)")}


def promises(name: str, found: list[Opened]) -> list[Promise]:
    """Return what is promised of a page that was opened several times."""
    size, seconds = LIMITS[name]
    owed = [
        median_of_runs(f"{name}: MB", [one.bytes / 1e6 for one in found], limit=size),
        median_of_runs(f"{name}: s to load", [one.seconds or 1e3 for one in found], limit=seconds),
        median_of_runs(
            f"{name}: requests and errors", [one.requests + one.errors for one in found], limit=0
        ),
    ]
    tiles = [median(one.found["tiles"]) for one in found if "tiles" in one.found]
    frames = [_p95(one.found["frames"]) for one in found if "frames" in one.found]
    if tiles:
        owed.append(median_of_runs(f"{name}: s a tile of {SIDE}", tiles, limit=TILE_LIMIT))
        owed.append(median_of_runs(f"{name}: s a frame, 95 %", frames, limit=FRAME_LIMIT))
    return owed


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(0.95 * (len(seconds) - 1))]


@cache
def _captured() -> tuple[list[str], Any]:
    tokenizer: Any = AutoTokenizer.from_pretrained(demo_folder())
    model = AutoModel.from_pretrained(demo_folder()).eval()
    given = tokenizer(TEXT.read_text(), truncation=True, max_length=512, return_tensors="pt")
    with torch.inference_mode(), capture(model, values=True) as captured:
        model(**given)
    return tokenizer.convert_ids_to_tokens(given["input_ids"][0]), captured


def _bertviz(view: str) -> str:
    tokens, weights = minilm()
    shown = getattr(import_module("bertviz"), view)(
        [one[None] for one in weights.values()], tokens, html_action="return"
    )
    return f"<!doctype html><meta charset=utf-8><body>{shown.data}"


def _circuitsvis() -> str:
    (tokens, weights), theirs = minilm(), import_module("circuitsvis.attention")
    shown = theirs.attention_patterns(tokens=tokens, attention=next(iter(weights.values())))
    return f"<!doctype html><meta charset=utf-8><body>{shown}"
