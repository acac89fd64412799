"""Record the attention of a model while it runs: queries, keys, and what may be read.

    memory of one call:  b (h n + g m) d, with `rows` b h r m        (n x m is never written)

The model keeps its attention function, its masks and its outputs, to the last bit; the layers that
were not chosen run as they do. What was kept gives exact weights of any rows at any later time.
Compiled code cannot be watched.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from torch import nn
from torch._dynamo.eval_frame import OptimizedModule

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.hf.layers import Choice
from attncost.view.capture.captured import Captured
from attncost.view.capture.choice import Chosen, chosen
from attncost.view.capture.kept import Rows


def capture(
    model: nn.Module,
    layers: Choice = None,
    *,
    heads: Iterable[int] | None = None,
    rows: Rows | None = None,
    values: bool = False,
) -> AbstractContextManager[Captured]:
    """Capture the attention of a model while a context lasts.

    >>> with ac.capture(model, layers=[9]) as captured:  # doctest: +SKIP
    ...     model(**inputs)
    >>> captured.last("model.layers.9.self_attn").weights(rows=-1)  # doctest: +SKIP

    Args:
        model: A model of transformers, whatever its attention implementation, or of PyTorch.
        layers: Numbers of layers, a name with wildcards such as "encoder.*", or a function of name
            and module, as `ac.hf.swap` takes them; every layer, cross-attention too, if left out.
        heads: Numbers of the query heads to keep, with the keys that they read; all if left out.
        rows: Which queries' weights to keep instead of queries and keys: "last" for each generated
            token, or numbers, from the end if negative.
        values: Whether to keep values, too.

    Returns:
        A context that gives what was captured so far; see `Captured`. Calls of functions show only
        when the model runs, so a model without attention gives one that says it saw no call.

    Raises:
        ShapeError: If there is no such layer, or rows or heads are no numbers; when the model runs,
            if it has no such row or head.
        UnknownName: If no layer has such a name.
        UnsupportedOption: If the model is compiled, or a layer computes what has no weights or
            cannot be seen.
    """
    if not isinstance(model, nn.Module):
        raise ShapeError(f"capture needs a model, got a {type(model).__name__}.")
    _check_eager(model)
    if values and rows is not None:
        raise ShapeError("rows keeps weights alone, and values=True values: leave one of them out.")
    kept = None if rows is None else _rows(rows)
    numbers = None if heads is None else _numbers("heads", heads)
    watched = chosen(model, layers)
    captured = Captured((*watched.names, *watched.others), heads=numbers, rows=kept, values=values)
    return _capturing(model, watched, captured)


def _rows(rows: Rows) -> Rows:
    return rows if rows == "last" or _is_number(rows) else _numbers("rows", rows)


def _numbers(what: str, given: Any) -> tuple[int, ...]:  # noqa: ANN401 -- whatever somebody wrote
    """Return numbers; which of them there are is known when the model runs."""
    some = isinstance(given, Iterable) and not isinstance(given, str)
    numbers = tuple(given) if some else ()
    if not numbers or not all(map(_is_number, numbers)):
        text = ' or "last"' if what == "rows" else ""
        raise ShapeError(f"{what} must be numbers such as [0, 3]{text}, got {given!r}.")
    return numbers


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


@contextmanager
def _capturing(model: nn.Module, watched: Chosen, captured: Captured) -> Iterator[Captured]:
    with ExitStack() as stack:
        for host, layers in watched.hosts:
            stack.enter_context(host.watch(model, layers, captured.see))
        yield captured


def _check_eager(model: Any) -> None:  # noqa: ANN401 -- a compiled one has more than a module
    """Refuse compiled code, which runs past whoever watches."""
    for name, module in model.named_modules():
        if isinstance(module, OptimizedModule) or module._compiled_call_impl is not None:
            raise UnsupportedOption(
                f"{name or 'the model'} is compiled, and compiled attention cannot be seen: pass "
                "the model as it was before torch.compile (they share their weights)."
            )
