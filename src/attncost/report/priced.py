"""What a model costs by formula: per step, and attention against all the rest over the length."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from attncost.core.counts import Count
from attncost.core.units import show
from attncost.cost.configuration import Configuration
from attncost.cost.model.dense import Dense
from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.mechanisms.spelling import spelling
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table

_TOKENS: Final = Axis(label="tokens", unit="tokens")


def priced(model: Configuration, *, lengths: Sequence[int], command: str) -> Chapter:
    """Return what a model costs at some lengths, and where attention takes over.

    Args:
        model: The sizes.
        lengths: Tokens, increasing; the steps are shown at the last.
        command: What reproduces it.
    """
    longest = lengths[-1]
    whole, core = model.cost(longest).useful, model.core(longest).useful
    over = takes_over(model)
    share = core / whole
    finding = Finding(
        key=f"cost_{key(model)}",
        text=(
            f"{leading(model.name)}, {longest:,} tokens: {show(whole, 'flops')}, "
            f"{show(share, 'percent')} attention{_half(over)}."
        ),
        values={
            "length": longest,
            "flops": whole,
            "attention_share": share,
            "attention_takes_over": over,
            "longest": model.longest,
        },
        command=command,
    )
    section = Section(
        title=f"What {model.name} costs by formula",
        text=(_sizes(model), _definition(model), _takeover(model, over)),
        blocks=(_against(model, lengths, over, command), _steps(model, longest, command)),
    )
    return Chapter((finding,), section)


def takes_over(model: Configuration) -> int | None:
    """Return where attention costs as much as all the rest, looking up to `_looked(model)`."""
    return model.attention_takes_over(limit=_looked(model))


def _looked(model: Configuration) -> int:
    """Return how far is far enough: the two meet below 16 d_model in most models."""
    return min(32 * model.d_model, 1 << 20)


def curve(name: str, cost: Callable[[int], Count], lengths: Sequence[int]) -> Series:
    """Return a formula as a line of a chart."""
    return Series(name, tuple(Point(n, cost(n)) for n in lengths))


def _against(
    model: Configuration, lengths: Sequence[int], over: int | None, command: str
) -> Figure:
    columns = (
        Column("tokens", "tokens"),
        Column("attention", "flops"),
        Column("all the rest", "flops"),
        Column("together", "flops"),
        Column("attention's share", "percent"),
    )
    rows = tuple(_row(model, n) for n in lengths)
    end = f"it takes over at {over:,} tokens" if over else "it takes over nowhere"
    # The line goes on past what the model takes, to show where the two meet.
    drawn = [*lengths]
    while over and drawn[-1] < over and len(drawn) < 2 * len(lengths):
        drawn.append(2 * drawn[-1])
    marks = [Mark(over, "takes over")] if over and over <= drawn[-1] else []
    if model.longest and model.longest < drawn[-1]:
        marks.append(Mark(model.longest, "longest"))
    chart = Chart(
        title=f"Attention in {model.name}: {end}",
        description=(
            f"FLOPs of one forward pass of {model.name} against tokens: attention between the "
            f"projections, and everything else. {end.capitalize()}."
        ),
        x=_TOKENS,
        y=Axis(label="one forward pass", unit="flops"),
        series=(
            curve("attention", lambda n: model.core(n).useful, drawn),
            curve("all the rest", lambda n: model.linear(n).useful, drawn),
        ),
        marks=tuple(marks),
    )
    title = f"Attention and all the rest of {model.name}"
    return Figure(chart, Table(title=title, columns=columns, rows=rows, command=command))


def _row(model: Configuration, n: int) -> tuple[Any, ...]:
    core, linear = model.core(n).useful, model.linear(n).useful
    return (n, core, linear, core + linear, core / (core + linear))


def _steps(model: Configuration, length: int, command: str) -> Table:
    cost = model.cost(length)
    rows = [
        (
            name,
            step.useful or None,
            step.useful / cost.useful if step.useful else None,
            step.elementwise or None,
        )
        for name, step in cost.steps
    ]
    return Table(
        title=f"Each step of {model.name} at {length:,} tokens"
        + (", in all layers" if model.layers > 1 else ""),
        columns=(
            Column("step"),
            Column("FLOPs", "flops"),
            Column("share", "percent"),
            Column("elementwise", "count"),
        ),
        rows=(*rows, ("together", cost.useful, 1.0, cost.elementwise)),
        note=(
            f"One layer takes {_per_layer(model, length)}. A multiply-add is 2 FLOPs; elementwise "
            "operations are counted apart."
        ),
        command=command,
    )


def _per_layer(model: Configuration, length: int) -> str:
    costs = [some.layer.cost(length).useful for some in model.stack]
    return " or ".join(show(cost, "flops") for cost in dict.fromkeys(costs))


def _half(over: int | None) -> str:
    return "" if over is None else f"; half from {over:,}"


def leading(name: str) -> str:
    """Begin a sentence with a name; one that is no phrase stays as it is."""
    return name.capitalize() if " " in name else name


def _takeover(model: Configuration, over: int | None) -> str:
    if over is None:
        return f"Attention costs less than all the rest, up to {_looked(model):,} tokens."
    sentence = f"Attention costs as much as all the rest from {over:,} tokens"
    if model.longest is None:
        return f"{sentence}."
    where = "beyond" if over > model.longest else "within"
    return f"{sentence}, {where} the {model.longest:,} that the model takes."


def _sizes(model: Configuration) -> str:
    layers = f"{model.layers} layers" if model.layers > 1 else "One layer"
    sizes = f"{layers}, {model.d_model:,} features a token{_inside(model)}; attention is "
    read = " and ".join(
        spelling(pattern) + (f" in {times} layers" if len(model.patterns) > 1 else "")
        for pattern, times in model.patterns.items()
    )
    source = f" Sizes: {model.source}." if model.source else ""
    return " ".join((f"{sizes}{read or 'none of softmax'}.{source}", *model.notes))


def _inside(model: Configuration) -> str:
    """Write the sizes of the commonest attention, and of the feed-forward where all are alike."""
    calls = sorted(model.calls(1), key=lambda one: one[2])
    if not calls:
        return ""
    dims, feeds = calls[-1][1], {some.layer.feed for some in model.stack}
    (feed,) = feeds if len(feeds) == 1 else (None,)
    hidden = f", {feed.hidden:,} in the feed-forward" if isinstance(feed, Dense) else ""
    shared = f" ({dims.kv_heads} of keys and values)" if dims.kv_heads != dims.heads else ""
    return f", {dims.heads} heads{shared} of {dims.head_dim}{hidden}"


def _definition(model: Configuration) -> str:
    head = {
        "logits": " The logits of every token are counted.",
        "pooler": " The pooler is counted.",
        "classes": " The classes are counted.",
    }.get(model.head.kind if model.head else "", "")
    return (
        "Attention is what lies between the projections: scores, softmax, weighted sum, over the "
        f"pairs that the definition reads.{head} Embeddings, norms and biases are left out."
    )


def key(model: Configuration) -> str:
    """Return a model's name as part of a finding's key."""
    return "".join(c if c.isalnum() else "_" for c in model.name.lower())
