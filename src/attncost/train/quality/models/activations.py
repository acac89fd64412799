"""Queries, keys and values of a model, for errors of approximations on what models compute."""

from typing import Final

import torch

from attncost.integrations.hf.trial import undisturbed
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.train.quality.errors import Qkv
from attncost.train.quality.models.outputs import run
from attncost.train.quality.models.reading import Reading
from attncost.view.capture.capture import capture
from attncost.view.seen import Seen

# All weights of all heads are written out, and their singular values found.
MOST_TOKENS: Final = 256
_LAYERS: Final = 8


def activations(reading: Reading) -> tuple[tuple[Qkv, ...], bool]:
    """Return calls of a model on the beginning of its longest text, and whether they are causal.

    Calls with a mask, bias, cap, sink or scale of their own are left out, and so are those beyond
    some layers that are evenly spread.
    """
    text = max(reading.texts, key=len)[:MOST_TOKENS]
    with undisturbed(reading.model), capture(reading.model, values=True) as captured:
        run(reading, torch.tensor([text]))
    plain = [seen for calls in captured.values() for seen in calls if _is_plain(seen)]
    causal = any(isinstance(seen.pattern, Causal) for seen in plain)
    alike = [seen for seen in plain if isinstance(seen.pattern, Causal) == causal]
    some = alike[:: max(1, len(alike) // _LAYERS)]
    return tuple((seen.q, seen.k, seen.v) for seen in some if seen.v is not None), causal


def _is_plain(seen: Seen) -> bool:
    """Say whether a call has nothing but queries, keys and values."""
    scale = seen.q.shape[-1] ** -0.5
    wishes = dict(seen.wishes)
    own = wishes.pop("scale", None) in (None, scale)
    free = all(wish is None or wish == 0 for wish in wishes.values())
    return own and free and not seen.cross and isinstance(seen.pattern, Full | Causal)
