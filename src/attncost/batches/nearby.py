"""Ways whose dials lie beyond those that are known, or between them."""

from attncost.batches.interface import Batching
from attncost.batches.reasons import dials


def beyond(way: Batching, known: list[Batching]) -> list[Batching]:
    """Return ways with twice the greatest setting of a dial, or half the least, if it has that.

    >>> from attncost.batches.ways.padded import Padded
    >>> beyond(Padded(8), [Padded(2), Padded(8)]), beyond(Padded(2), [Padded(2), Padded(8)])
    ([Padded(size=16, multiple=1)], [Padded(size=1, multiple=1)])

    Args:
        way: One of those that are known.
        known: Ways, of this kind or others.
    """
    found: list[Batching] = []
    for name, settings in _settings(way, known).items():
        value = dials(way)[name]
        if value == settings[-1]:
            found.append(_turned(way, name, 2 * value))
        elif value == settings[0] > 1:
            found.append(_turned(way, name, value // 2))
    return found


def around(way: Batching, known: list[Batching]) -> list[Batching]:
    """Return ways with one dial half-way to the next setting that is known.

    >>> from attncost.batches.ways.padded import Padded
    >>> around(Padded(8), [Padded(2), Padded(8), Padded(32)])
    [Padded(size=5, multiple=1), Padded(size=20, multiple=1)]

    Args:
        way: One of those that are known.
        known: Ways, of this kind or others.
    """
    found: list[Batching] = []
    for name, settings in _settings(way, known).items():
        at = settings.index(dials(way)[name])
        near = settings[max(at - 1, 0) : at + 2]
        found += [_turned(way, name, (to + settings[at]) // 2) for to in near]
    return [one for one in found if one not in known]


def _settings(way: Batching, known: list[Batching]) -> dict[str, list[int]]:
    """Return the settings that are known of each dial that has several."""
    alike = [dials(one) for one in known if type(one) is type(way)]
    found = {
        name: sorted({one[name] for one in alike})
        for name, value in dials(way).items()
        if isinstance(value, int)
    }
    return {name: settings for name, settings in found.items() if len(settings) > 1}


def _turned(way: Batching, name: str, to: int) -> Batching:
    return type(way)(**{**dials(way), name: to})
