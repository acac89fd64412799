"""Spans of a clock that nobody has to wait for."""

from attncost.measure.attribution.places import NODE
from attncost.measure.attribution.spans import BACKWARD, MODULE, ROUND, Span


def span(name, start, end, *, thread=1, **more):
    return Span(name=name, thread=thread, start=start, end=end, **more)


def module(name, start, end, *, thread=1):
    return span(MODULE + name, start, end, thread=thread)


def node(name, start, end, *, number, thread=1, forward=1):
    """A node that runs backward, and the range inside that is named for it, too."""
    more = {"thread": thread, "sequence": number, "forward_thread": forward}
    return [span(NODE + name, start, end, **more), span(name, start, end, **more)]


def summed(name, start, end, *, thread=1):
    """The sum of a parameter's gradients, which has no number."""
    return [span(NODE + name, start, end, thread=thread)]


# A call of 1000 ns: two modules forward, both backward, a loss outside of them.
STEP = [
    span(ROUND, 0, 1000),
    module("", 10, 400),
    module("one", 20, 200),
    span("aten::linear", 30, 180, sequence=5),
    span("aten::t", 31, 40, sequence=5),
    span("aten::addmm", 50, 170, sequence=6),
    module("two", 210, 390),
    span("aten::scaled_dot_product_attention", 220, 380, sequence=7),
    span(BACKWARD, 410, 990),
    span("aten::sum", 420, 440, sequence=8),
    *node("SumBackward0", 450, 460, number=8),
    *node("ScaledDotProductBackward0", 470, 700, number=7),
    span("aten::zeros", 480, 500),
    *node("AddmmBackward0", 710, 900, number=6),
    span("aten::mm", 720, 800),
    *summed("torch::autograd::AccumulateGrad", 905, 915),
    *node("TBackward0", 920, 930, number=5),
]
