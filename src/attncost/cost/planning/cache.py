"""What is kept of past tokens: keys and values, and states that no length makes greater."""

from collections.abc import Callable, Iterator

from attncost.core.counts import Count, ceil_div
from attncost.core.formula import written
from attncost.cost.configuration import Configuration
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.mixer import Mixer
from attncost.cost.planning.precision import item, stored
from attncost.cost.planning.situation import Situation


def cache(
    model: Configuration, how: Situation, *, length: Count, batch: Count
) -> tuple[Count, str]:
    """Return the bytes of all caches on one device, and their equation.

    Args:
        model: The sizes.
        how: Says the precision, the size of a page, and how devices share heads.
        length: Tokens of each sequence; every page is taken whole.
        batch: Sequences on this device.
    """
    terms = [_term(mixer, times, length, how) for mixer, times in _caching(model)]
    equation = f"{batch} · ({' + '.join(terms)}) · {item(how.kv)}" if terms else ""
    kept = _numbers(model, how, lambda mixer: mixer.reserved(length, page=how.page))
    return batch * stored(kept, how.kv), equation


def cache_read(model: Configuration, how: Situation, *, length: Count, batch: Count) -> Count:
    """Return the bytes of them that the next token reads; arguments as of `cache`."""
    return batch * stored(_numbers(model, how, lambda mixer: mixer.read(length)), how.kv)


def state(model: Configuration, how: Situation, *, batch: Count) -> tuple[Count, str]:
    """Return the bytes of all states on one device, and their equation."""
    share = how.sharding.tensor
    recent = ceil_div(model.recent, share)
    lasting = ceil_div(model.state, share) - recent
    equation = f"{batch} · ({written(lasting)} · 4 B + {written(recent)} · {item(how.kv)})"
    return batch * (4 * lasting + stored(recent, how.kv)), equation


def _numbers(model: Configuration, how: Situation, of: Callable[[Mixer], Count]) -> Count:
    """Return how many numbers one device has of all caches."""
    numbers: Count = 0
    for mixer, times in _caching(model):
        _, kv_heads = mixer.split
        numbers += how.sharding.cache(of(mixer), kv_heads=kv_heads) * times
    return numbers


def _caching(model: Configuration) -> Iterator[tuple[Mixer, Count]]:
    return ((mixer, times) for mixer, times in model.mixers() if mixer.cached(1))


def _term(mixer: Mixer, times: Count, n: Count, how: Situation) -> str:
    tokens = written(mixer.reserved(n, page=how.page) // mixer.cached(1))
    if not isinstance(mixer, Grouped):
        return f"{times} layers · {written(mixer.cached(1))} · {tokens}"
    heads, d = ceil_div(mixer.kv_heads, how.sharding.tensor), mixer.head_dim
    return f"{times} layers · 2 · {heads} heads · {d} · {tokens}"
