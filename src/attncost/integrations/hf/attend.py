"""The attention function that is registered: what the host allows and the pattern reads, exactly.

A pair is read if the model's mask allows it and the pattern of this layer does. With `Full()` that
is the model's own attention. No mask, window or argument is dropped: what cannot be honoured raises
`UnsupportedOption`.
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.core.options import Wishes
from attncost.integrations.hf.approximate import approximated
from attncost.integrations.hf.arguments import arguments
from attncost.integrations.hf.hung import hung
from attncost.integrations.hf.reads import Reads
from attncost.integrations.hf.runs import by_runs, shifted
from attncost.integrations.hf.settle import settled
from attncost.integrations.hf.told import told
from attncost.integrations.hf.watch import watched
from attncost.kernels.attention import attention
from attncost.kernels.weights import attention_weights
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern


def attend(
    module: nn.Module,
    query: Float[Tensor, "b h n d"],
    key: Float[Tensor, "b g m d"],
    value: Float[Tensor, "b g m e"],
    attention_mask: object,
    *,
    usual: Pattern | Mechanism,
    **asked: Any,  # noqa: ANN401 -- what models pass
) -> tuple[Float[Tensor, "b n h e"], Float[Tensor, "b h n m"] | None]:
    """Compute the attention of one layer, as `AttentionInterface` asks it.

    Args:
        module: The layer; what was hung into it says what it reads, else `usual` does.
        query: Queries.
        key: Keys, those of a cache included.
        value: Values.
        attention_mask: What our mask function returned, or a mask of padding (2 axes), or a
            complete one (4 axes), or None.
        usual: What layers read unless something was hung into them.
        **asked: See `Arguments`.

    Raises:
        UnsupportedOption: If the call cannot be honoured.
    """
    wanted = arguments(module, asked)
    reads = told(module, query, key, attention_mask, wanted)
    own = hung(module)
    thing = usual if own is None else own.attention
    if key.shape[2] != reads.sizes[2]:  # the end of a static cache is not filled yet
        key, value = (x[:, :, : reads.sizes[2]] for x in (key, value))
    if isinstance(thing, Mechanism):
        learned = {} if own is None else own.learned()
        out = approximated(module, thing, learned, (query, key, value), (reads, wanted))
        return out.transpose(1, 2).contiguous(), None
    pattern, wishes = settled(module, thing, reads, wanted, query)
    unread = isinstance(attention_mask, Reads) and reads.dense is not None
    apart = shifted(pattern, wishes, unread=unread)
    if apart:
        out = by_runs(module, query, key, value, pattern, wishes)
    else:
        watched(module, (query, key, value), pattern, wishes)
        out = attention(query, key, value, pattern, **wishes)
    weights = None
    if wanted.weights:
        if apart:
            raise UnsupportedOption(
                f"output_attentions of {pattern} over padded or packed texts is not there: pass "
                "one unpadded text at a time."
            )
        weights = attention_weights(query, key, pattern, **_of_weights(wishes))
    return out.transpose(1, 2).contiguous(), weights


def _of_weights(wishes: Wishes) -> dict[str, Any]:
    """Return what weights depend on: all but dropout, which is drawn anew at every call."""
    return {name: wish for name, wish in wishes.items() if name != "dropout_p"}
