"""Record rounds of a call under PyTorch's profiler, and read what it saw.

One that runs already would get our events, and we its, so it is refused. Nothing is asked of a GPU
unless the call uses one: builds without CUDA record the same way.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

from torch.autograd.profiler import profile

from attncost.core.errors import UnsupportedOption
from attncost.measure.attribution.ranges import Ranges, span_of
from attncost.measure.attribution.spans import ROUND, Span
from attncost.measure.held.allocator import profiling, quietly


@contextmanager
def recording(
    around: Callable[[], AbstractContextManager[object]], *, device: str, shapes: bool = False
) -> Iterator[Callable[[], list[Span]]]:
    """Profile a block, and give what returns its spans once it has ended.

    Args:
        around: Makes what is to be open inside of the profiler, such as ranges of modules.
        device: `cpu` or `cuda`.
        shapes: Whether shapes of inputs are recorded, too, which takes longer.

    Raises:
        UnsupportedOption: If a profiler runs already, or another one took the events.
    """
    refuse_profiler()
    recorder = profile(record_shapes=shapes, use_device="cuda" if device == "cuda" else None)
    with ExitStack() as stack:
        with quietly():
            recorder.__enter__()
        stack.callback(_stop, recorder)
        with around():
            yield partial(_spans, recorder)
        if not profiling():
            raise UnsupportedOption(
                "a profiler or memory monitor ran inside of what is profiled and took its events: "
                "run them one after the other."
            )


def refuse_profiler() -> None:
    """Raise if a profiler runs.

    Raises:
        UnsupportedOption: If one does.
    """
    if profiling():
        raise UnsupportedOption(
            "a profile cannot be taken inside a running profiler or memory monitor, which record "
            "the same events: leave it first."
        )


def in_rounds(
    call: Callable[[], object], ranges: Ranges, *, rounds: int, ready: Callable[[], object]
) -> None:
    """Call so often, each time in a range of its own.

    Args:
        call: What to call.
        ranges: Those of its modules; off in a first round, which shows what runs without them.
        rounds: How often with them.
        ready: Is called before each round, outside of it.
    """

    def one() -> None:
        ready()
        with span_of(ROUND):
            call()

    one()
    with ranges:
        for _ in range(rounds):
            one()


def _stop(recorder: profile) -> None:
    with quietly():
        recorder.__exit__(None, None, None)


def _spans(recorder: profile) -> list[Span]:
    return [
        _span(event)
        for event in recorder.function_events or ()
        # What ends in another thread lies in none.
        if event.device_type.name == "CPU" and not event.is_async
    ]


def _span(event: Any) -> Span:  # noqa: ANN401 -- PyTorch's is untyped
    return Span(
        name=event.name,
        thread=event.thread,
        start=round(event.time_range.start * 1000),
        end=round(event.time_range.end * 1000),
        sequence=event.sequence_nr,
        forward_thread=event.fwd_thread or 0,
        shapes=" ".join(str(shape) for shape in event.input_shapes or () if shape),
        kernels=round(sum(kernel.duration for kernel in event.kernels) * 1000),
    )
