"""A cache for a mechanism that streams: one state, which stands for all tokens before.

    bytes  those of the state; `Linear`: 4 * batch * kv_heads * (head_dim * (value_dim + 1) + 1)

Use it for `Linear(causal=True)` and the like. Not for a pattern, which reads keys: these are gone.
A token more costs the same time and memory however many came before. What was added up cannot be
taken apart, so no token can be taken back. The state is never written in place: gradients flow
through it, and `copy.copy` of the cache keeps what it remembers now, without copying a tensor.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.mechanisms.interface import Mechanism, State
from attncost.nn.cache import check_alike, check_indices, check_new
from attncost.nn.streaming import streaming
from attncost.nn.tokens import Tokens

_NOTHING: Final[Mapping[str, Tensor]] = MappingProxyType({})


@final
class StateCache:
    """What one layer remembers of all tokens that it has read.

    Attributes:
        mechanism: Whose state it is.

    Raises:
        UnsupportedOption: If the mechanism reads ahead, so that it has no state.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism: Final = streaming(mechanism)
        self._state: State | None = None
        # Places for no tokens, of the sizes of those that were read and of the type of sums: what
        # autocast has narrowed and what it has not may follow one another.
        self._like: Tokens | None = None
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """How many tokens it has read: the position of the next one."""
        return self._tokens

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""
        return sum(x.untyped_storage().nbytes() for x in self._state or ())

    def stream(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g n d"],
        v: Float[Tensor, "b g n e"],
        learned: Mapping[str, Tensor] = _NOTHING,
        *,
        key_mask: Bool[Tensor, "b n"] | None = None,
    ) -> Float[Tensor, "b h n e"]:
        """Read new tokens after those before, and return what the mechanism makes of them.

        Args:
            q: Queries of the new tokens.
            k: Keys of the new tokens.
            v: Values of the new tokens.
            learned: Learned tensors of the mechanism.
            key_mask: True where a new key may be read, as with padding; all may if left out.

        Raises:
            ShapeError: If the tensors do not fit together, or not to those before.
        """
        check_new(k, v, key_mask)
        like = Tokens(_none_widened(k), _none_widened(v), None)
        if self._like is not None:
            check_alike(self._like, like)
        out, self._state = self.mechanism.stream(
            q, k, v, learned, state=_lasting(self._state), key_mask=key_mask
        )
        if self._like is None:
            self._like = like.places(0)
        self._tokens += k.shape[2]
        return out

    def reset(self) -> None:
        """Forget all tokens."""
        self._state, self._like, self._tokens = None, None, 0

    def select(self, indices: Int[Tensor, "c"]) -> None:
        """Make these sequences the batch, in this order, as beam search does; one may be repeated.

        Raises:
            ShapeError: If a sequence is not there.
        """
        if self._state is None or self._like is None:
            return
        check_indices(indices, self._like.k.shape[0])
        self._state = tuple(x.index_select(0, indices.to(x.device)) for x in self._state)
        self._like = self._like.selected(indices.to(self._like.k.device))

    def crop(self, tokens: int) -> None:
        """Keep the first `tokens` tokens, which it can only do of all or none.

        Raises:
            ShapeError: If it has not seen so many.
            UnsupportedOption: If some would have to be taken back.
        """
        if not 0 <= tokens <= self._tokens:
            raise ShapeError(
                f"tokens must lie between 0 and {self._tokens}, as many as the cache has seen, "
                f"got {tokens}."
            )
        if tokens == 0:
            self.reset()
        elif tokens < self._tokens:
            raise UnsupportedOption(
                f"a state adds up all {self._tokens} tokens and cannot go back to {tokens}: take "
                "copy.copy(cache) before the tokens that may be taken back, and go on with that."
            )


def _none_widened(x: Float[Tensor, "b g n _"]) -> Float[Tensor, "b g 0 _"]:
    """Return none of the tokens, in the type in which they are summed."""
    return x[:, :, :0].to(torch.promote_types(x.dtype, torch.float32))


def _lasting(state: State | None) -> State | None:
    """Return a state that a graph may keep: outside of inference mode, none that was made in it."""
    if state is None or torch.compiler.is_compiling() or torch.is_inference_mode_enabled():
        return state
    return tuple(x.clone() if x.is_inference() else x for x in state)
