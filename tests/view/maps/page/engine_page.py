"""Pages with the engine alone, from layers that are written down here by the page's contract."""

import base64
import itertools
import json
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files

import torch
from tests.oracle import definition

STYLE = """<style>
:root { color-scheme: light dark; --ink: #111; --paper: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #111 } }
canvas { display: block; width: 400px; height: 400px; color: var(--ink); background: var(--paper) }
body { margin: 0; height: 3000px }
</style><link rel="icon" href="data:,">"""

AFTER = """
globalThis.engine = {
  decoded, openHead, MapView, colourOf, inkOf, massOf, setScale, LEGEND, STOPS, hatched, header,
  scaleOf, legendOf,
  bytes: (array) => {
    let text = ""
    for (const byte of new Uint8Array(array.buffer)) text += String.fromCharCode(byte)
    return btoa(text)
  },
}
"""

# What browsers of a few years ago lack.
BEFORE = "delete globalThis.Float16Array; delete Uint8Array.fromBase64;"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One layer: queries and keys, which pairs are read, and what is done to the scores."""

    q: torch.Tensor
    k: torch.Tensor
    mask: torch.Tensor
    padded: torch.Tensor | None = None
    options: dict[str, object] = field(default_factory=dict)
    documents: tuple[int, ...] = (0,)

    @cached_property
    def weights(self):
        """Return what a page should show of rounded queries and keys, in float64, and their lse."""
        q, k = (x.half().double()[None] for x in (self.q, self.k))
        shown = None if self.padded is None else ~self.padded[None]
        options = dict(self.options)
        eye = torch.eye(k.shape[2], dtype=q.dtype).expand(1, k.shape[1], -1, -1)
        weights, lse = definition(q, k, eye, self.mask, key_mask=shown, **options)
        if (sink := options.get("sink")) is not None:
            lse = torch.logaddexp(lse, sink[:, None].double())
        return weights[0].expand(len(self.q), -1, -1), lse[0]


def page(cases, *, old=False, held=()):
    """Return a page with a layer for each case, and one for each matrix of `held` weights."""
    blocks = _Blocks(plain=old)
    sequences, layers = [], []
    for index, case in enumerate(cases):
        sequences += [_sequence(case, case.q.shape[1], blocks), _sequence(case, None, blocks)]
        layers.append(_layer(case, index, blocks))
    for matrix in held:
        n, m = matrix.shape
        sequences += [{"tokens": [""] * n, "padded": None}, {"tokens": [""] * m, "padded": None}]
        place = {"queries": len(sequences) - 2, "keys": len(sequences) - 1}
        head = {"weights": blocks.add(matrix, "f32"), "map": None}
        layers.append({"n": n, "m": m, **place, "heads": [head]})
    header = {"sequences": sequences, "layers": layers, "scale": {"low": 1e-6}}
    return (
        f"<!doctype html><meta charset=utf-8><title>Engine</title>{STYLE}"
        "<canvas tabindex=0></canvas>"
        f'<script type="application/json" id="attncost-maps">{json.dumps(header)}</script>'
        f"{blocks.elements()}<script>{BEFORE if old else ''}</script>"
        f'<script type="module">{script()}{AFTER}</script>'
    )


def script():
    """Return the files of the engine, in order of name."""
    folder = files("attncost.view.maps") / "page"
    names = sorted(file.name for file in folder.iterdir() if file.name[0] in "1234")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


class _Blocks:
    def __init__(self, *, plain):
        self.plain = plain
        self.texts = []

    def add(self, tensor, kind):
        numpy = {"f16": "<f2", "f32": "<f4", "i32": "<i4", "u8": "u1"}[kind]
        raw = tensor.detach().numpy().astype(numpy).tobytes()
        packed = raw if self.plain else zlib.compress(raw, wbits=-15)
        self.texts.append(base64.b64encode(packed).decode())
        name, how = f"block-{len(self.texts) - 1}", "plain" if self.plain else "deflate-raw"
        return {"id": name, "type": kind, "shape": list(tensor.shape), "packed": how}

    def elements(self):
        return "".join(
            f'<script type="text/plain" id="block-{i}">{text}</script>'
            for i, text in enumerate(self.texts)
        )


def _sequence(case, queries, blocks):
    """Return the keys' sequence, or that of queries, which are its last tokens."""
    m = case.k.shape[1]
    padded = None if case.padded is None else blocks.add(case.padded, "u8")
    if queries not in (None, m):
        return {"tokens": [""] * queries, "documents": [0], "padded": None}
    return {"tokens": [""] * m, "documents": list(case.documents), "padded": padded}


def _layer(case, index, blocks):
    (h, n, d), (_, m, _), options = case.q.shape, case.k.shape, case.options
    lse = case.weights[1]
    return {
        "name": f"layers.{index}",
        "queries": 2 * index,
        "keys": 2 * index + 1,
        "n": n,
        "m": m,
        "d": d,
        "scale": options.get("scale", d**-0.5),
        "softcap": options.get("softcap"),
        "alibi": None if "alibi" not in options else options["alibi"].tolist(),
        "reads": None if case.mask.all() else _reads(case.mask, blocks),
        "bias": _bias(options.get("bias"), n, blocks),
        "keys_of": [blocks.add(keys, "f16") for keys in case.k],
        "heads": [
            {
                "number": i,
                "group": i * len(case.k) // h,
                "q": blocks.add(case.q[i], "f16"),
                "lse": blocks.add(lse[i], "f32"),
                "map": blocks.add(pooled(case, i), "u8"),
            }
            for i in range(h)
        ],
    }


def pooled(case, head, size=64):
    """Return the mean mass of queries of a block on a block of keys, as the page's bytes."""
    weights = case.weights[0][head]
    rows, columns = (-(-count // size) for count in weights.shape)
    mass = torch.stack([block.mean(0) for block in weights.split(rows)])
    mass = torch.stack([block.sum(1) for block in mass.split(columns, 1)], 1)
    read = torch.stack([block.any(0) for block in _shown(case).split(rows)])
    read = torch.stack([block.any(1) for block in read.split(columns, 1)], 1)
    number = 1 + 254 * (1 + mass.clamp(1e-6, 1).log() / 6 / torch.tensor(10.0).log())
    return torch.where(read, number.round(), 0).to(torch.uint8)


def _shown(case):
    return case.mask if case.padded is None else case.mask & ~case.padded


def _reads(mask, blocks):
    counts, gaps = [], []
    for row in mask.tolist():
        runs = [(read, len(list(run))) for read, run in itertools.groupby(row)]
        if runs[0][0]:
            runs.insert(0, (False, 0))
        if not runs[-1][0]:
            runs.pop()
        counts.append(len(runs) // 2)
        gaps += [length for _, length in runs]
    as_int = {"dtype": torch.int32}
    return {
        "counts": blocks.add(torch.tensor(counts, **as_int), "i32"),
        "gaps": blocks.add(torch.tensor(gaps, **as_int), "i32"),
    }


def _bias(bias, n, blocks):
    if bias is None:
        return None
    (rows,) = bias
    first = rows[:, :, 0].flip(1)
    diagonals = torch.cat([first, rows[:, 0, 1:]], 1)
    # Where a bias knows the distance alone, its first column and row hold all of it.
    if rows.shape[1] == n and all(
        torch.equal(diagonals[:, n - 1 - i : n - 1 - i + rows.shape[2]], rows[:, i])
        for i in range(n)
    ):
        return {"kind": "diagonal", "rows": blocks.add(diagonals, "f32")}
    return {"kind": "dense", "rows": blocks.add(rows, "f32")}
