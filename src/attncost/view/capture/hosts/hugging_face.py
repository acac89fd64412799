"""Models of transformers: whatever their attention functions are handed, by whichever function.

Rotary positions, norms of queries and keys, caches and grouped heads are done by then. A query of
padding that may read nothing has weights of 0, where `eager` gives 1 / m to every key.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

import torch
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.core.options import Wishes
from attncost.integrations.hf.arguments import Arguments, arguments
from attncost.integrations.hf.hung import hung
from attncost.integrations.hf.layers import attention_layers, crosses
from attncost.integrations.hf.register import interfaces, ours
from attncost.integrations.hf.runs import shifted
from attncost.integrations.hf.settle import settled
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.view.capture.hosts.hugging_face_calls import Call, listening
from attncost.view.capture.hosts.hugging_face_reads import Reader
from attncost.view.capture.hosts.interface import Host, See
from attncost.view.capture.hosts.once import Once
from attncost.view.seen import Seen


@final
class HuggingFace(Host):
    """Layers that ask transformers for their attention function."""

    def layers(self, model: nn.Module) -> dict[str, nn.Module]:
        """Return the layers that ask, by name."""
        try:
            return attention_layers(model, "*")
        except UnsupportedOption:
            return {}

    @contextmanager
    def watch(self, model: nn.Module, chosen: Mapping[str, nn.Module], see: See) -> Iterator[None]:
        """Tell of every call of the chosen layers.

        Raises:
            AttnCostError: If transformers is older than 5.24.
            UnsupportedOption: If a layer computes what is not exact attention or cannot be read.
        """
        interfaces()
        for name, module in chosen.items():
            configuration: Any = module.config
            _exact(name, module, configuration._attn_implementation)
        names = {id(module): name for name, module in chosen.items()}
        apart, read = _apart(model), _Reading()

        def tell(call: Call) -> None:
            name = names[id(call.module)]
            see(read(name, call, cross=name in apart))

        with listening(list(chosen.values()), tell):
            yield


@final
class _Reading:
    """Reads calls, and what layers share once."""

    def __init__(self) -> None:
        self._reads, self._bias = Reader(), Once(_weighing)

    @torch.no_grad()
    def __call__(self, name: str, call: Call, *, cross: bool) -> Seen:
        """Return what was seen in a call.

        Raises:
            UnsupportedOption: If it is not exact attention, or cannot be read.
        """
        module, (query, key, value) = call.module, (x.detach() for x in call.qkv)
        own, asked = _exact(name, module, call.implementation), self._asked(name, call)
        reads = self._reads(name, call, asked)
        if key.shape[2] != reads.sizes[2]:  # the end of a static cache is not filled yet
            key, value = (x[:, :, : reads.sizes[2]] for x in (key, value))
        pattern, wishes = settled(module, own, reads, asked, query)
        if shifted(pattern, wishes, unread=False):
            raise UnsupportedOption(
                f"{name} reads {pattern} from the first token of each text, and computes padded or "
                "packed texts one by one: capture one unpadded text at a time."
            )
        return Seen(
            name=name,
            q=query,
            k=key,
            v=value,
            pattern=pattern,
            wishes=_kept(wishes),
            heads=tuple(range(query.shape[1])),
            cross=cross or crosses(module, reads_all=isinstance(pattern, Full)),
        )

    def _asked(self, name: str, call: Call) -> Arguments:
        try:
            asked = arguments(call.module, dict(call.asked))
        except UnsupportedOption as error:
            raise UnsupportedOption(
                f"{name} cannot be captured, leave it out with layers=...: {error}"
            ) from error
        if asked.position_bias is None:
            return asked
        return replace(asked, position_bias=self._bias(asked.position_bias))


def _kept(wishes: Wishes) -> Wishes:
    """Return wishes that stay as they are: small tensors copied, a bias shared by layers as it is.

    A mask of padding is the caller's, a sink a parameter; a bias is made anew for every pass.
    """
    kept = wishes.copy()
    kept.pop("dropout_p", None)
    for name in ("key_mask", "segments", "sink"):
        if isinstance(tensor := wishes.get(name), Tensor):
            kept[name] = tensor.detach().clone()
    return kept


def _weighing(bias: Tensor) -> Tensor | None:
    """Return what is added to scores, if it is anything; T5 adds zeros across sequences."""
    return bias.detach() if bool(bias.any()) else None


def _exact(name: str, module: nn.Module, implementation: str | None) -> Pattern:
    """Return what a layer reads within its mask; a mechanism is refused."""
    usual = ours(implementation)
    if usual is None:
        return Full()
    own = hung(module)
    thing = usual if own is None else own.attention
    if isinstance(thing, Mechanism):
        raise UnsupportedOption(
            f"{name} computes {thing}, an approximation that has no attention weights: leave it "
            "out with layers=..., or restore the swap first."
        )
    return thing


def _apart(model: nn.Module) -> frozenset[str]:
    """Return the names of layers whose keys come from another sequence."""
    every = attention_layers(model, "*").keys()
    try:
        return frozenset(every - attention_layers(model).keys())
    except UnsupportedOption:  # there is nothing but cross-attention
        return frozenset(every)
