"""Charts of the kinds that a report draws, with up to seven series, intervals and marks."""

from attncost.draw.chart import Axis, Chart, Mark, Point, Series

LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096]
TOKENS = Axis(label="length (tokens)", unit="tokens")


def _line(name, law, **more):
    return Series(name, tuple(Point(n, law(n)) for n in LENGTHS), **more)


def _measured(name, law, spread, **more):
    points = (
        Point(n, law(n) * (1 + 0.04 * (-1) ** i), law(n) / spread, law(n) * spread)
        for i, n in enumerate(LENGTHS)
    )
    return Series(name, tuple(points), "markers", **more)


def share():
    return Chart(
        title="Attention passes half of a layer's FLOPs only at 2,304 tokens",
        description="Share of attention in the FLOPs of a layer, by length, for three models.",
        x=TOKENS,
        y=Axis(label="share of attention in a layer's FLOPs", unit="percent", log=False),
        series=(
            _line("all-MiniLM-L6-v2", lambda n: n / (n + 2304)),
            _line("BERT-base", lambda n: n / (n + 4608)),
            _line("Llama-3-8B", lambda n: n / (n + 30000)),
        ),
        marks=(Mark(512, "longest input of MiniLM"), Mark(2304, "half of MiniLM")),
    )


def time():
    def naive(n):
        return 2e-4 + 3e-7 * n + 1.1e-9 * n * n

    def fused(n):
        return 1e-4 + 2.8e-7 * n + 4e-10 * n * n

    return Chart(
        title="Naive attention turns quadratic at 270 tokens, fused attention at 700",
        description="Time of one layer by length: two fitted laws and their measurements.",
        x=TOKENS,
        y=Axis(label="process CPU time of one layer", unit="seconds"),
        series=(
            _line("naive, law", naive, group="naive"),
            _measured("naive, measured", naive, 1.12, group="naive"),
            _line("fused, law", fused, group="fused"),
            _measured("fused, measured", fused, 1.3, group="fused"),
        ),
        marks=(Mark(272, "n² = n at 272"), Mark(700, "n² = n at 700")),
    )


def memory():
    return Chart(
        title="Only naive attention holds n x n weights",
        description="Peak memory of one layer by length for three kernels, predicted and measured.",
        x=TOKENS,
        y=Axis(label="peak memory of one forward pass", unit="bytes"),
        series=(
            _line("reference", lambda n: 96.0 * n * n + 6000 * n),
            _line("sdpa", lambda n: 9000.0 * n),
            _line("folded", lambda n: 12000.0 * n),
            _measured("reference, measured", lambda n: 96.0 * n * n + 6000 * n, 1.02),
            _measured("sdpa, measured", lambda n: 9100.0 * n, 1.2),
        ),
    )


def patterns():
    return Chart(
        title="Every pattern's price at the sizes of this model",
        description="Executed FLOPs by length for seven patterns.",
        x=TOKENS,
        y=Axis(label="executed FLOPs of one layer", unit="flops"),
        series=tuple(
            _line(name, lambda n, i=i: 1536.0 * n * min(n, 4096 / 2**i))
            for i, name in enumerate(
                (
                    "full",
                    "causal",
                    "window(width=128)",
                    "dilated(width=128, step=4)",
                    "bigbird(block=64, random=3)",
                    "linformer(rank=64)",
                    "longformer(width=513, ahead=256, global_tokens=(0, 511))",
                )
            )
        ),
        marks=(Mark(129, "window wins from 129"), Mark(150, "linformer wins from 150")),
    )


def one_point():
    return Chart(
        title="One batch size only: what padding wastes",
        description="Waste in tokens and in pairs at a batch size of 32.",
        x=Axis(label="batch size", unit="exact", log=False),
        y=Axis(label="wasted share", unit="percent", log=False),
        series=(
            Series("tokens", (Point(32, 0.61, 0.6, 0.63),), "markers"),
            Series("pairs", (Point(32, 0.61),)),
        ),
    )
