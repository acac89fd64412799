"""A document with everything that a page must cope with, as large as a real report."""

from tests.report import sample_charts as charts
from tests.report.sample_charts import LENGTHS

from attncost.report.document import Column, Document, Figure, Finding, Section, Table

COMMAND = "attncost report demo --text examples/data/alice.txt -o report.html"


def document():
    return Document(
        schema="attncost.report/1",
        title="What attention costs in all-MiniLM-L6-v2",
        subtitle="6 layers, d_model 384, 12 heads; measured on 2 CPU cores with one thread.",
        command=COMMAND,
        findings=tuple(
            Finding(key=f"finding_{i}", text=text, command=command)
            for i, (text, command) in enumerate(_findings(), 1)
        ),
        sections=(
            Section(
                title="Where the FLOPs go",
                text=(
                    "Projections and feed-forward layers grow with the length, scores and the "
                    "weighted sum with its square. Heads do not change the total: h heads of d / h "
                    "features cost h · n² · d/h = n² · d.",
                ),
                blocks=(_steps(), Figure(charts.share(), _numbers("Share of attention by length"))),
            ),
            Section(
                title="Time and memory, measured",
                text=(
                    "Each marker is the median of 15 rounds in random order, with its 95 % "
                    "interval; each line is the fitted law.",
                ),
                blocks=(
                    Figure(charts.time(), _numbers("Time by length")),
                    Figure(charts.memory(), _numbers("Peak memory by length")),
                ),
            ),
            Section(
                title="What would be cheaper",
                text=("Each pattern at the sizes of this model, dense attention first.",),
                blocks=(
                    _wide(),
                    Figure(charts.patterns(), _points(charts.patterns())),
                    Figure(charts.one_point(), _numbers("Padding at batch size 32")),
                ),
            ),
            Section(
                title="A long-context model beside it: the sizes published for Llama-3-8B",
                text=("MiniLM stops at 512 tokens, where attention is 18 % of its FLOPs.",),
                blocks=(_numbers("Llama-3-8B, 8k to 128k"),),
            ),
        ),
        facts={
            "environment": {
                "torch": "2.13.0+cpu",
                "python": "3.11.2",
                "machine": {"processor": "x86-64, 2 cores", "memory": "7.7 GiB"},
                "threads": 1,
                "clock": "process CPU time",
                "flags": ["avx2", "avx512f"],
                "accelerator": None,
                "notes": [],
            },
            "contains": "It contains numbers of tokens, and no text, tokens or activations.",
        },
    )


def _findings():
    return [
        (
            "A sentence of 512 tokens costs 11.8 GFLOPs, of which attention is 18.2 %.",
            "attncost count demo --length 512",
        ),
        (
            "Scores and weighted sum overtake the projections at 768 tokens and the whole layer "
            "at 2,304 tokens, which this model never sees.",
            "attncost derive full --d-model 384 --heads 12",
        ),
        (
            "The measured time follows T = c0 + c1·n·d² + c2·n²·d within 3.1 % rms.",
            "attncost fit runs/demo",
        ),
        (
            "Fused attention is 2.31 x (2.24 to 2.39) as fast as naive attention at 512 tokens.",
            "attncost measure demo --lengths 64:512 --kernels reference,sdpa",
        ),
        (
            "Naive attention holds two n x n tensors per head: 24.0 MiB at 512 tokens.",
            "attncost measure demo --memory",
        ),
        (
            "Padding wastes 61.4 % of the tokens and 84.9 % of the pairs in random batches of 32; "
            "sorting by length first leaves 4.2 % and 6.0 %.",
            COMMAND,
        ),
        (
            "A window of 128 keys wins from 129 tokens on and saves 43.8 % of the pairs at 512.",
            "attncost derive window --width 128",
        ),
        ("Linformer of rank 64 wins from 65 tokens on, but is no exact attention.", COMMAND),
        (
            "At 131,072 tokens attention is 96.1 % of the FLOPs of Llama-3-8B.",
            "attncost count llama-3-8b --length 131072",
        ),
        ("Its keys and values take 16.0 GiB at that length.", "attncost count llama-3-8b"),
        (
            "The published table of the article is inconsistent with 4nd² + 2n²d: it grows "
            "x 152.6 from 64 to 1,024 tokens, the formula x 30.1.",
            "attncost fit tests/data/article.csv --d-model 512",
        ),
        ("No operation of this model is left unpriced.", "attncost count demo"),
    ]


def _steps():
    rows = [
        ("q projection", "2·b·n·d_model²", "n·d²", 150_994_944, 0.0128),
        ("k projection", "2·b·n·d_model²", "n·d²", 150_994_944, 0.0128),
        ("v projection", "2·b·n·d_model²", "n·d²", 150_994_944, 0.0128),
        ("scores", "2·b·h·n²·d", "n²·d", 201_326_592, 0.0171),
        ("scale", "b·h·n²", "n²", 3_145_728, 0.0003),
        ("softmax", "5·b·h·n²", "n²", 15_728_640, 0.0013),
        ("weighted sum", "2·b·h·n²·d", "n²·d", 201_326_592, 0.0171),
        ("output projection", "2·b·n·d_model²", "n·d²", 150_994_944, 0.0128),
        ("first feed-forward", "8·b·n·d_model²", "n·d²", 603_979_776, 0.0513),
        ("activation", None, None, 786_432, None),
        ("second feed-forward", "8·b·n·d_model²", "n·d²", 603_979_776, 0.0513),
        ("one layer", "24·b·n·d_model² + 4·b·h·n²·d", "n·d² + n²·d", 2_214_592_512, 1.0),
    ]
    return Table(
        title="FLOPs of one layer at 512 tokens, step by step",
        columns=(
            Column("step"),
            Column("FLOPs", "formula"),
            Column("order", "formula"),
            Column("at n = 512", "flops"),
            Column("share", "percent"),
        ),
        rows=tuple(rows),
        note="A multiply-add is 2 FLOPs; scale and softmax are counted apart, as elementwise.",
        command="attncost derive full --d-model 384 --heads 12 --length 512",
    )


def _wide():
    names = ("full", "causal", "window(width=128)", "linformer(rank=64)")
    long_note = "exact inside the window; what lies outside is never read, and information travels"
    return Table(
        title="Every pattern at the sizes of this model, with what it executes and what it needs",
        columns=(
            Column("pattern"),
            Column("useful pairs", "formula"),
            *(Column(f"useful at {n:,}", "flops") for n in LENGTHS),
            Column("memory", "bytes"),
            Column("wins from", "tokens"),
            Column("what is lost"),
        ),
        rows=tuple(
            (
                name,
                "min(w, n)·n - ½·w·(w - 1)",
                *(4 * 384 * n * n // (i + 1) for n in LENGTHS),
                (i + 1) * 3_000_000,
                None if i == 0 else 64 * i + 1,
                f"{long_note} at most {i} tokens a layer",
            )
            for i, name in enumerate(names)
        ),
        note="An empty cell: it never wins.",
        command="attncost derive --all --d-model 384 --heads 12",
    )


def _numbers(title):
    return Table(
        title=title,
        columns=(
            Column("length", "tokens"),
            Column("theory", "seconds"),
            Column("measured", "seconds"),
            Column("low", "seconds"),
            Column("high", "seconds"),
        ),
        rows=tuple(
            (n, 1e-6 * n, 1.04e-6 * n, 0.98e-6 * n, 1.13e-6 * n if n < 4096 else None)
            for n in LENGTHS
        ),
        command="attncost measure demo --lengths 64:4096 --rounds 15",
    )


def _points(chart):
    return Table(
        title=f"{chart.y.label}, by length",
        columns=(Column("length", "tokens"), *(Column(s.name, "flops") for s in chart.series)),
        rows=tuple(
            (n, *(series.points[i].y for series in chart.series)) for i, n in enumerate(LENGTHS)
        ),
        command="attncost derive --all --d-model 384 --lengths 64:4096",
    )
