"""What a cache is: keys and values of one layer, kept so that no token is computed twice.

Every class here is abstract and every class in the other files is final: a method is written once
and never overridden, so reading one file tells all that it does.
"""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.nn.tokens import Tokens


class Cache(ABC):
    """Keys and values that one layer has computed, and memory for more of them.

    Rotate keys before they are cached, at positions that begin at `tokens`. What `extend` returns
    may lie in that memory: it is right until the next call of any method, or for good while
    gradients are recorded (outside `torch.no_grad()` and `torch.inference_mode()`).
    """

    def __init__(self) -> None:
        self._memory: Tokens | None = None
        # How many tokens, the last ones, lie in `_memory` from its beginning.
        self._held = 0
        self._tokens = 0

    @final
    @property
    def tokens(self) -> int:
        """How many tokens it has seen: the position of the next one."""
        return self._tokens

    @final
    @property
    def nbytes(self) -> int:
        """Bytes of its memory, whether filled or not."""
        return 0 if self._memory is None else self._memory.nbytes

    @final
    def extend(
        self,
        k: Float[Tensor, "b g n d"],
        v: Float[Tensor, "b g n e"],
        key_mask: Bool[Tensor, "b n"] | None = None,
    ) -> tuple[Float[Tensor, "b g m d"], Float[Tensor, "b g m e"], Bool[Tensor, "b m"] | None]:
        """Take new tokens, and return all that their queries may read: the newest key last.

        Args:
            k: Keys of the new tokens.
            v: Values of the new tokens.
            key_mask: True where a new key may be read, as with padding; all may if left out. It is
                remembered, and returned for old and new keys once it was given.

        Raises:
            ShapeError: If they do not fit together or to what is held, or there is no room.
            UnsupportedOption: If gradients would have to flow through memory written in place.
        """
        check_new(k, v, key_mask)
        new = Tokens(k, v, key_mask)
        memory = self._memory
        if memory is not None and self._tokens == 0 and _odd(memory, new):
            memory = None
        if memory is not None:
            check_alike(memory, new)
            memory = _writable(memory if key_mask is None else memory.masked())
        read = self._add(memory, new)
        self._tokens += new.length
        return read.k, read.v, read.key_mask

    @abstractmethod
    def _add(self, memory: Tokens | None, new: Tokens) -> Tokens:
        """Return what the new queries may read; set `_memory` and `_held`.

        A call that is refused changes nothing.
        """

    @final
    def reset(self) -> None:
        """Forget all tokens and masks, but keep the memory for a sequence of the same sizes."""
        self._held = self._tokens = 0
        if self._memory is not None:
            self._memory = self._memory.without_mask()

    @final
    def select(self, indices: Int[Tensor, "c"]) -> None:
        """Make these sequences the batch, in this order, as beam search does; one may be repeated.

        Raises:
            ShapeError: If a sequence is not there.
        """
        if self._memory is None:
            return
        check_indices(indices, self._memory.k.shape[0])
        self._memory = self._memory.selected(indices.to(self._memory.k.device))

    @final
    def crop(self, tokens: int) -> None:
        """Keep the first `tokens` tokens, as speculative decoding does.

        Raises:
            ShapeError: If it has not seen so many, or has let go of some that would be needed.
        """
        if not 0 <= tokens <= self._tokens:
            raise ShapeError(
                f"tokens must lie between 0 and {self._tokens}, as many as the cache has seen, "
                f"got {tokens}."
            )
        self._check_back(tokens)
        self._held = max(0, self._held - (self._tokens - tokens))
        self._tokens = tokens

    @abstractmethod
    def _check_back(self, tokens: int) -> None:
        """Refuse to go back to `tokens` tokens if what the next query reads is no longer there."""


def refuse_gradient(new: Tokens, cache: str) -> None:
    """Refuse tokens with a gradient, which memory written in place would cut off.

    Raises:
        UnsupportedOption: If they have one.
    """
    if torch.is_grad_enabled() and (new.k.requires_grad or new.v.requires_grad):
        raise UnsupportedOption(
            f"no gradient flows through the memory of a {cache}: decode under torch.no_grad(), "
            "or take a DynamicCache."
        )


def lasting(read: Tokens) -> Tokens:
    """Return a copy while gradients are recorded, as a graph may keep what memory will lose."""
    return read.copy() if torch.is_grad_enabled() else read


def check_new(k: Tensor, v: Tensor, key_mask: Tensor | None) -> None:
    """Say whether keys, values and mask of new tokens fit together.

    Raises:
        ShapeError: If they do not.
    """
    if k.dim() != 4 or v.dim() != 4 or k.shape[:3] != v.shape[:3]:
        raise ShapeError(
            "k and v must have the axes (batch, kv_heads, length, features) and agree in the "
            f"first three, got {tuple(k.shape)} and {tuple(v.shape)}."
        )
    if k.dtype != v.dtype or k.device != v.device:
        raise ShapeError(
            "k and v must have one type on one device, "
            f"got {k.dtype} on {k.device} and {v.dtype} on {v.device}."
        )
    if key_mask is None:
        return
    if key_mask.dtype != torch.bool or key_mask.shape != (k.shape[0], k.shape[2]):
        raise ShapeError(
            "key_mask is that of the new tokens, boolean (True = may be read) of shape "
            f"(batch, length) = {(k.shape[0], k.shape[2])}, "
            f"got {key_mask.dtype} of shape {tuple(key_mask.shape)}."
        )
    if key_mask.device != k.device:
        raise ShapeError(
            f"key_mask must be on the device of k, {k.device}, got {key_mask.device}: "
            "move it with `to`."
        )


def _writable(memory: Tokens) -> Tokens:
    """Return memory that may be written: outside of inference mode, none that was made in it."""
    if torch.compiler.is_compiling() or torch.is_inference_mode_enabled():
        return memory
    mask = memory.key_mask
    made_there = memory.k.is_inference() or (mask is not None and mask.is_inference())
    return memory.copy() if made_there else memory


def _odd(memory: Tokens, new: Tokens) -> bool:
    """Say whether memory cannot take tokens like these."""
    return (
        memory.k.shape[:2] != new.k.shape[:2]
        or memory.k.shape[3] != new.k.shape[3]
        or memory.v.shape[3] != new.v.shape[3]
        or memory.k.dtype != new.k.dtype
        or memory.k.device != new.k.device
    )


def check_indices(indices: Tensor, batch: int) -> None:
    """Say whether indices choose sequences of a batch.

    Raises:
        ShapeError: If they do not.
    """
    if indices.dim() != 1 or indices.is_floating_point() or indices.dtype == torch.bool:
        raise ShapeError(
            "indices must be whole numbers with one axis, the sequences to keep, "
            f"got {indices.dtype} of shape {tuple(indices.shape)}."
        )
    if bool(((indices < 0) | (indices >= batch)).any()):
        raise ShapeError(
            f"indices must lie between 0 and {batch - 1}, as the batch has {batch} sequences, "
            f"got {indices.tolist()}."
        )


def check_alike(memory: Tokens, new: Tokens) -> None:
    """Say whether new tokens are like those before.

    Raises:
        ShapeError: If they are not.
    """
    if _odd(memory, new):
        raise ShapeError(
            f"the cache holds {_look(memory)}, got {_look(new)}: use one cache for each layer, "
            "and `reset` it before another batch."
        )


def _look(tokens: Tokens) -> str:
    (b, g, _, d), e = tokens.k.shape, tokens.v.shape[3]
    return (
        f"{b} sequences of {g} kv_heads with head_dim {d} and value_dim {e} "
        f"in {tokens.k.dtype} on {tokens.k.device}"
    )
