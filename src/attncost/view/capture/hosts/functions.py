"""Attention functions of PyTorch and ours, seen in whatever module calls them.

Modules of a chosen part get another `forward` meanwhile, which does what theirs does and knows who
runs; inside, a mode of PyTorch meets every function of attention. A hook or such a mode would turn
off the fast path of `TransformerEncoder` and its parts, and so change what they return: in those no
mode is on, and what a `MultiheadAttention` reads is known from what it is given. A layer of theirs
that computes all at once, past its attention, is read afterwards. Compiled code cannot be seen.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from threading import get_ident
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard, final

import torch
from torch import nn
from torch.nn.functional import multi_head_attention_forward, scaled_dot_product_attention
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _pop_mode_temporarily,
)

from attncost.integrations.hf.layers import crosses
from attncost.kernels.attention import attention
from attncost.mechanisms.interface import Mechanism
from attncost.nn.attention import Attention
from attncost.nn.multihead import MultiheadAttention
from attncost.patterns.interface import Pattern
from attncost.view.capture.hosts.function_calls import Call, FunctionCalls, Given
from attncost.view.capture.hosts.interface import Host, See
from attncost.view.capture.hosts.multihead_calls import (
    MultiheadCalls,
    is_given_another,
)
from attncost.view.seen import Seen

Forward: TypeAlias = Callable[..., Any]
_OPERATION: Final = torch.ops.aten.scaled_dot_product_attention


@final
class Functions(Host):
    """Modules that call an attention function, or are one of PyTorch's or ours."""

    def layers(self, model: nn.Module) -> dict[str, nn.Module]:
        """Return PyTorch's modules of attention and ours; any other can be watched as well."""
        return {name: one for name, one in model.named_modules() if _is_attention(one)}

    @contextmanager
    def watch(self, model: nn.Module, chosen: Mapping[str, nn.Module], see: See) -> Iterator[None]:
        """Tell of every call; it is named after the innermost module that makes it.

        Args:
            model: The model.
            chosen: Any of its modules, whole parts too.
            see: Told of each call in order.

        Raises:
            UnsupportedOption: At a call that cannot be looked at.
        """
        names = {id(module): name for name, module in model.named_modules()}
        within = {id(part) for one in chosen.values() for part in one.modules()}
        watch = _Watch(see)
        with ExitStack() as stack:
            stack.callback(watch.close)
            for name, module in model.named_modules():
                forward = watch.forward(name, module) if id(module) in within else None
                if _computes_at_once(module) and id(module.self_attn) in within:
                    forward = watch.layer(names[id(module.self_attn)], module)
                if forward is not None:
                    _give(module, forward, stack)
            yield


def _is_attention(module: nn.Module) -> bool:
    if isinstance(module, Attention):
        return isinstance(module.attention, Pattern)
    return isinstance(module, nn.MultiheadAttention)


def _computes_at_once(module: nn.Module) -> TypeGuard[nn.TransformerEncoderLayer]:
    """Say whether a module may go past the `forward` of its attention."""
    theirs = nn.TransformerEncoderLayer
    if not (isinstance(module, theirs) and isinstance(module.self_attn, nn.MultiheadAttention)):
        return False
    kind = type(module)
    return kind.forward is theirs.forward and kind._sa_block is theirs._sa_block


def _give(module: nn.Module, forward: Forward, stack: ExitStack) -> None:
    """Give a module another `forward` until the stack is left."""
    before = vars(module).get("forward")
    module.forward = forward

    def restore() -> None:
        # Whoever came later and has not left yet holds ours, which then does what theirs did.
        if vars(module).get("forward") is forward:
            del module.forward
            if before is not None:
                module.forward = before

    stack.callback(restore)


class _Running(NamedTuple):
    """A module that runs.

    Attributes:
        name: In the model.
        cross: Whether it was given another sequence to read.
    """

    name: str
    cross: bool


@final
class _Watch:
    """Knows which module runs, and tells of the calls that it makes."""

    def __init__(self, see: See) -> None:
        self._see: See | None = see
        self._running: defaultdict[int, list[_Running]] = defaultdict(list)
        self._entered: Counter[tuple[int, str]] = Counter()
        calls, self._multiheads = FunctionCalls(), MultiheadCalls()
        self.readers: Final[dict[Given, Callable[..., Call]]] = {
            attention: calls.ours,
            multi_head_attention_forward: self._multiheads.of_function,
            scaled_dot_product_attention: calls.scaled_dot_product,
            _OPERATION: calls.scaled_dot_product,
            _OPERATION.default: calls.scaled_dot_product,
        }

    def __deepcopy__(self, _: object) -> "_Watch":
        return self

    def close(self) -> None:
        """Tell no more, wherever a `forward` is still held."""
        self._see = None

    def forward(self, name: str, module: nn.Module) -> Forward | None:
        """Return the `forward` of a module that is watched; None if it calls nothing itself."""
        theirs = type(module).__module__.startswith("torch.nn.")
        plain = theirs and not any(module.children())
        if plain or isinstance(module, torch.jit.ScriptModule):
            return None
        if isinstance(module, Attention) and isinstance(module.attention, Mechanism):
            # What it may call compares queries with mixtures of tokens.
            return partial(self._apart, module.forward)
        if type(module).forward is nn.MultiheadAttention.forward:
            return partial(self._multihead, name, module, module.forward)
        if type(module).forward in (
            nn.TransformerEncoder.forward,
            nn.TransformerEncoderLayer.forward,
        ):
            return partial(self._apart, module.forward)
        return partial(self._run, name, module, module.forward)

    def layer(self, name: str, layer: nn.TransformerEncoderLayer) -> Forward:
        """Return the `forward` of a layer whose attention is watched under a name."""
        return partial(self._layer, name, layer, layer.forward)

    def _run(
        self, name: str, module: Given, forward: Forward, *args: Given, **kwargs: Given
    ) -> Given:
        """Run a module, and meet the functions that it calls."""
        if self._idle():
            return forward(*args, **kwargs)
        thread = get_ident()
        running = _Running(name, _is_given_another(module, args, kwargs))
        self._entered[thread, name] += 1
        self._running[thread].append(running)
        try:
            with self._on():
                return forward(*args, **kwargs)
        finally:
            self._running[thread].pop()

    def _multihead(
        self, name: str, module: Given, forward: Forward, *args: Given, **kwargs: Given
    ) -> Given:
        """Run a module of PyTorch whose attention is known from what it is given."""
        if self._idle():
            return forward(*args, **kwargs)
        self._entered[get_ident(), name] += 1
        out = self._apart(forward, *args, **kwargs)
        self._tell(name, partial(self._multiheads.of_module, module), args, kwargs)
        return out

    def _layer(
        self, name: str, module: Given, forward: Forward, *args: Given, **kwargs: Given
    ) -> Given:
        """Run a layer, and tell of its attention if it has gone past that."""
        if self._idle():
            return forward(*args, **kwargs)
        before = self._entered[get_ident(), name]
        out = self._apart(forward, *args, **kwargs)
        if self._entered[get_ident(), name] == before:
            self._tell(name, partial(self._multiheads.of_layer, module), args, kwargs)
        return out

    def _apart(self, forward: Forward, *args: Given, **kwargs: Given) -> Given:
        """Run a module that computes at once unless a mode is on."""
        with self._off():
            return forward(*args, **kwargs)

    def call(self, func: Given, args: tuple[Given, ...], kwargs: dict[str, Given]) -> Given:
        """Make a call, and tell of it if it is one of attention."""
        out = func(*args, **kwargs)
        read, running = self.readers.get(func), self._running[get_ident()]
        if read is not None and running:
            name, cross = running[-1]
            self._tell(name, read, args, kwargs, cross=cross)
        return out

    def _tell(
        self,
        name: str,
        read: Callable[..., Call],
        args: tuple[Given, ...],
        kwargs: dict[str, Given],
        *,
        cross: bool = False,
    ) -> None:
        if self._see is None:
            return
        # Who else watches PyTorch's functions shall not meet those of looking.
        with torch.no_grad(), torch._C.DisableTorchFunction():
            call = read(*args, **kwargs)
            q, k, v = call.q.detach(), call.k.detach(), call.v.detach()
            self._see(
                Seen(
                    name=name,
                    q=q,
                    k=k,
                    v=v,
                    pattern=call.pattern,
                    wishes=call.wishes,
                    heads=tuple(range(q.shape[1])),
                    cross=cross or call.cross,
                )
            )

    def _idle(self) -> bool:
        return self._see is None or torch.compiler.is_compiling()

    def _on(self) -> AbstractContextManager[object]:
        modes: Iterable[object] = _get_current_function_mode_stack()
        return nullcontext() if any(map(self._owns, modes)) else _Mode(self)

    def _off(self) -> AbstractContextManager[object]:
        owned = self._owns(_get_current_function_mode())
        return _pop_mode_temporarily() if owned else nullcontext()

    def _owns(self, mode: object) -> bool:
        return isinstance(mode, _Mode) and mode.watch is self


@final
class _Mode(TorchFunctionMode):
    """Hands every call of a function of PyTorch to a watch."""

    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self.watch: Final = watch

    def __torch_function__(
        self, func: Given, types: Given, args: Given = (), kwargs: Given = None
    ) -> Given:
        """Hand it over."""
        return self.watch.call(func, args, kwargs or {})


def _is_given_another(module: nn.Module, args: tuple[Given, ...], kwargs: dict[str, Given]) -> bool:
    """Say whether a module reads a sequence that is not its queries'."""
    if type(module) is MultiheadAttention:
        return is_given_another(module, *args, **kwargs)
    if isinstance(module, Attention):
        return len(args) > 1 or kwargs.get("context") is not None
    return crosses(module, reads_all=False)
