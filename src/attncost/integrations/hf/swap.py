"""Give layers of a loaded model another pattern or mechanism, and take it back."""

from contextlib import ExitStack
from textwrap import fill
from types import TracebackType
from typing import Any, Final, final

from torch import nn
from torch.utils.hooks import RemovableHandle

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.core.notebook import as_html
from attncost.integrations.hf.configurations import configurations
from attncost.integrations.hf.hung import PLACE, Attends, hung
from attncost.integrations.hf.layers import Choice, attention_layers, unserved
from attncost.integrations.hf.register import EXACT, interfaces, ours, register
from attncost.mechanisms.interface import Mechanism
from attncost.nn.attending import attending
from attncost.nn.learned import learned, needs_length
from attncost.patterns.interface import Pattern

_THEIRS: Final = ("eager", "sdpa", "flex_attention", "paged|eager")


@final
class Swapped:
    """A model some of whose layers read something else; also a context that takes it back.

    Attributes:
        attention: What the chosen layers read, within what their model allows.
        names: The chosen layers.
    """

    _repr_html_ = as_html

    def __init__(
        self, model: nn.Module, attention: Pattern | Mechanism, chosen: dict[str, nn.Module]
    ) -> None:
        self.attention, self.names = attention, tuple(chosen)
        self._model, self._count = model, len(attention_layers(model))
        self._implementations = [(one, one._attn_implementation) for one in configurations(model)]
        self._before = _hung(model)
        self._hung: list[tuple[nn.Module, Attends, Attends | None]] = []
        self._watches: list[RemovableHandle] = []

    def restore(self) -> None:
        """Put everything back as it was; nothing happens the second time.

        Raises:
            ShapeError: If a later swap has not been restored yet.
        """
        if self._hung and _hung(self._model) - self._before - {own for _, own, _ in self._hung}:
            raise ShapeError(
                "this model was swapped again later: restore that swap before this one."
            )
        for module, _, former in self._hung:
            module._modules.pop(PLACE, None)
            if former is not None:
                module.add_module(PLACE, former)
        _set(
            [
                (
                    one,
                    was if ours(one._attn_implementation) is not None else one._attn_implementation,
                )
                for one, was in self._implementations
            ]
        )
        for watch in self._watches:
            watch.remove()
        self._hung, self._implementations, self._watches = [], [], []

    def __enter__(self) -> "Swapped":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.restore()

    def __str__(self) -> str:
        model, state = type(self._model).__name__, "read" if self._hung else "no longer read"
        lines = [
            f"{model}: {len(self.names)} of {self._count} attention layers {state} "
            f"{self.attention} within their masks"
        ]
        lines += [f"  {name}" for name in self.names]
        lines += [f"  not served, as it computes itself: {one}" for one in unserved(self._model)]
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in lines)

    def _hang(self, module: nn.Module, own: Attends) -> None:
        self._hung.append((module, own, hung(module)))
        module.add_module(PLACE, own)
        self._watches.append(module.register_forward_pre_hook(_check_served))


def swap(
    model: nn.Module,
    attention: Pattern | Mechanism,
    *,
    layers: Choice = None,
    length: int | None = None,
) -> Swapped:
    """Let layers of a model read what a pattern or mechanism reads, until it is restored.

    The chosen layers read the pairs that the model's own mask allows and the pattern reads; the
    others compute what they always did, by our kernels, and keep what was registered for them.
    `print(model)` shows the change, and `print` of the handle the layers that are not served.

    >>> with ac.hf.swap(model, ac.Window(256), layers=range(8)):  # doctest: +SKIP
    ...     model.generate(**inputs)

    Args:
        model: A model of transformers.
        attention: What the chosen layers read.
        layers: Numbers of layers, a name with wildcards such as "encoder.*", or a function of name
            and module; every layer of self-attention if left out.
        length: The most tokens of a sequence, for a mechanism whose learned tensors depend on it.

    Returns:
        A handle: `restore()` takes the change back, and so does leaving it as a context.

    Raises:
        ShapeError: If no layer was chosen, or a mechanism lacks its length.
        UnknownName: If no layer has such a name.
        UnsupportedOption: If the model does not ask transformers for its attention function, or
            the mechanism has a formula and no code.
    """
    attention = attending(attention)
    chosen = attention_layers(model, layers)
    swapped = Swapped(model, attention, chosen)
    with ExitStack() as stack:
        stack.push(swapped)  # restores after an error
        _serve(model, chosen)
        for module in chosen.values():
            swapped._hang(module, _of(module, attention, length))
        stack.pop_all()
    return swapped


def _serve(model: Any, chosen: dict[str, Any]) -> None:  # noqa: ANN401 -- theirs is untyped
    """Let a model call our attention function, unless it already does."""
    interfaces()
    if not hasattr(model, "set_attn_implementation"):
        raise UnsupportedOption(
            f"swap needs a model of transformers, got {type(model).__name__}: for modules of "
            "PyTorch there is ac.swap_multihead."
        )
    _check_others(model, chosen)
    if any(ours(module.config._attn_implementation) is None for module in chosen.values()):
        before = [(one, one._attn_implementation) for one in configurations(model)]
        model.set_attn_implementation(register(EXACT))
        # What was registered for other parts stays there.
        _set([(one, one._attn_implementation if ours(was) is None else was) for one, was in before])
    for name, module in chosen.items():
        asked = module.config._attn_implementation
        if ours(asked) is None:
            raise UnsupportedOption(
                f"{name} of {type(model).__name__} cannot be swapped, as it stays with {asked!r}: "
                "leave it out with layers=..."
            )


def _check_others(model: nn.Module, chosen: dict[str, Any]) -> None:
    """Refuse to replace a function of the user's own in layers that are not swapped."""
    every: dict[str, Any] = attention_layers(model, "*")
    for name in every.keys() - chosen.keys():
        asked = every[name].config._attn_implementation
        own = asked is not None and asked not in _THEIRS and "flash" not in asked
        if own and ours(asked) is None:
            raise UnsupportedOption(
                f"{name} computes by {asked!r}, which is neither ours nor one of transformers, and "
                "would compute exact attention after a swap of other layers: swap all layers, or "
                "set another attn_implementation first."
            )


def _set(implementations: list[tuple[Any, str | None]]) -> None:
    """Set what configurations ask for, outer ones first, as each sets those within it."""
    for one, implementation in implementations:
        one._attn_implementation = implementation


def _check_served(module: Any, _inputs: object) -> None:  # noqa: ANN401 -- theirs is untyped
    """Refuse to run a swapped layer by another attention function, which would not see the swap."""
    asked = module.config._attn_implementation
    if ours(asked) is None:
        own = hung(module)
        given = None if own is None else own.attention
        raise UnsupportedOption(
            f"a layer was swapped to {given}, but its model was set to {asked!r} after that: "
            "restore the swap first, or set 'attncost' again."
        )


def _hung(model: nn.Module) -> set[Attends]:
    """Return all that hangs in a model."""
    return {module for module in model.modules() if isinstance(module, Attends)}


def _of(module: Any, attention: Pattern | Mechanism, length: int | None) -> Attends:  # noqa: ANN401
    """Return what is hung into one layer, its learned tensors like the other ones there."""
    if isinstance(attention, Pattern):
        return Attends(attention)
    heads = module.config.num_attention_heads
    sizes = Dims(
        heads=heads,
        kv_heads=getattr(module.config, "num_key_value_heads", None) or heads,
        length=1,
        head_dim=getattr(module, "head_dim", None) or module.config.hidden_size // heads,
    )
    if length is None and needs_length(attention, sizes):
        raise ShapeError(
            f"{attention} learns tensors for a greatest length: say which with length=, the most "
            "tokens of a sequence."
        )
    like = next(module.parameters())
    own = dict(learned(attention, length, sizes).items())
    return Attends(attention, own).to(like.device, like.dtype)
