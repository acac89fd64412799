"""Whole pages of heads, written down here by the page's contract, densely and in float64."""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch

from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.render import page

LOW = 1e-6
MEASURES = (
    ("entropy", "Entropy", "nats", "How widely a query spreads its weights."),
    ("on_first", "On the first tokens", "percent", "Mass on the first tokens."),
    ("width", "Width of 95%", "tokens", "Within so many tokens 95% of the mass lies."),
)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Queries and keys of every head of one layer, and which pairs are read."""

    q: torch.Tensor
    k: torch.Tensor
    read: torch.Tensor
    queries: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, Any] | None = None
    name: str = "layer.0.attention"
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def weights(self):
        """Return the weights of rounded queries and keys."""
        scores = self._scores.masked_fill(~self.read, -torch.inf)
        return scores.softmax(-1).nan_to_num(0)

    @property
    def lse(self):
        """Return the log-sum-exp of each row."""
        return self._scores.masked_fill(~self.read, -torch.inf).logsumexp(-1)

    @property
    def _scores(self):
        q, k = self.q.half().double(), self.k.half().double()
        return q @ k.transpose(1, 2) * q.shape[2] ** -0.5


def causal(generator, n, *, heads=2, tokens=None, **more):
    """Return a causal layer of random queries and keys."""
    q, k = (torch.randn(heads, n, 8, generator=generator) * 2 for _ in range(2))
    read = torch.ones(n, n, dtype=torch.bool).tril()
    names = tokens or [f"t{place}" for place in range(n)]
    return Layer(q=q, k=k, read=read, queries={"tokens": names}, **more)


def until(page, expression, *, times=250):
    """Wait until an expression is true; the page's policy forbids to wait within it."""
    for _ in range(times):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{expression} did not become true")


def ready(page):
    """Wait until the page is drawn; Chromium may collect a promise awaited from outside."""
    page.evaluate("void attncost.ready.then(() => { globalThis.drawn = true }, () => {})")
    until(page, "globalThis.drawn === true", times=1500)


def write(file, layers, *, title="Attention of a model", **more):
    """Write the page of some layers and return the file."""
    blocks = Blocks(1 << 26)
    sequences, entries = [], []
    for number, layer in enumerate(layers):
        places = _placed(layer, sequences, blocks)
        entries.append(_entry(layer, number, places, blocks))
    header = {
        "schema": "attncost.maps/1",
        "title": title,
        "subtitle": f"{len(layers)} layers",
        "command": "attncost maps demo --text page.txt",
        "version": "0",
        "notes": ["This page contains the tokens of the text."],
        "sequences": sequences,
        "scale": {"low": LOW},
        "measures": [
            {"key": key, "title": name, "unit": unit, "help": says}
            for key, name, unit, says in MEASURES
        ],
        "layers": entries,
    }
    file.write_text("".join(page({**header, **more}, blocks)), encoding="utf-8")
    return file


def _placed(layer, sequences, blocks):
    """Return the places of both sequences, each kept once."""
    places = []
    for told in (layer.queries, layer.keys or layer.queries):
        padded = told.get("padded")
        entry = {"name": "text", "documents": [0], "grid": None, **told}
        entry["padded"] = None if padded is None else blocks.add(padded.numpy(), "u8")
        if (grid := entry["grid"]) and grid["image"] is not None:
            rgb = grid["image"]
            size = {"width": rgb.shape[1], "height": rgb.shape[0]}
            entry["grid"] = {**grid, "image": {**size, "rgb": blocks.add(rgb.numpy(), "u8")}}
        if entry not in sequences:
            sequences.append(entry)
        places.append(sequences.index(entry))
    return places


def _entry(layer, number, places, blocks):
    (h, n, d), m = layer.q.shape, layer.k.shape[1]
    weights, lse = layer.weights, layer.lse.numpy()
    return {
        "name": layer.name,
        "number": number,
        "queries": places[0],
        "keys": places[1],
        "n": n,
        "m": m,
        "d": d,
        "cross": layer.keys is not None,
        "causal": layer.keys is None,
        "pattern": "Full()" if layer.keys else "Causal()",
        "scale": d**-0.5,
        "softcap": None,
        "alibi": None,
        "bias": None,
        "swap": None,
        "reads": None if layer.read.all() else _reads(layer.read, blocks),
        "keys_of": [blocks.add(keys.half().numpy(), "f16") for keys in layer.k],
        "heads": [
            {
                "number": head,
                "group": head,
                "q": blocks.add(layer.q[head].half().numpy(), "f16"),
                "lse": blocks.add(lse[head], "f32"),
                "price": None,
                **_told(weights[head], blocks),
            }
            for head in range(h)
        ],
        **layer.more,
    }


def _told(weights, blocks):
    n, m = weights.shape
    rows, columns = -(-n // 64), -(-m // 64)
    pooled = torch.stack([block.mean(0) for block in weights.split(rows)])
    pooled = torch.stack([block.sum(1) for block in pooled.split(columns, 1)], 1)
    numbers = 1 + 254 * (1 - pooled.clamp(LOW, 1).log() / torch.tensor(LOW).log())
    entropy = -(weights * weights.clamp(1e-30).log()).sum(1)
    away = (torch.arange(m) - torch.arange(n)[:, None] - (m - n)).abs()
    mass = torch.zeros(n + m, dtype=torch.float64)
    within = mass.index_add(0, away.flatten(), weights.flatten()).cumsum(0) / n
    return {
        "map": blocks.add((numbers.round() * (pooled > 0)).numpy(), "u8"),
        "received": blocks.add(weights.mean(0).numpy(), "f32"),
        "entropy": blocks.add(entropy.numpy(), "f32"),
        "measures": {
            "entropy": entropy.mean().item(),
            "on_first": weights[:, :4].sum(1).mean().item(),
            "width": int((within < 0.95 * within[-1]).sum()) + 1,
        },
    }


def _reads(read, blocks):
    counts, gaps = [], []
    for row in read.tolist():
        runs = [(read, len(list(run))) for read, run in groupby(row)]
        runs = runs if not runs[0][0] else [(False, 0), *runs]
        runs = runs if runs[-1][0] else runs[:-1]
        counts.append(len(runs) // 2)
        gaps += [length for _, length in runs]
    named = {"counts": counts, "gaps": gaps}
    return {name: blocks.add(torch.tensor(one).numpy(), "i32") for name, one in named.items()}
