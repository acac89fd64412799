"""What was captured: the calls of each layer, in the order in which they were made."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeVar, final

from jaxtyping import Float
from torch import Tensor

from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.core.notebook import as_html
from attncost.view.capture.hosts.once import Once
from attncost.view.capture.kept import Rows, of_heads, padded, rows_of, whole
from attncost.view.seen import Seen

T = TypeVar("T")

UNSEEN: Final = (
    "no call of attention was seen: run the model inside `with attncost.capture(model) as "
    "captured:`; if it ran there, it has no attention, or computes it itself instead of calling "
    "F.scaled_dot_product_attention, F.multi_head_attention_forward, attncost.attention or a "
    "function of transformers."
)


@final
class Captured(Mapping[str, tuple[Seen, ...]]):
    """Calls of attention by the name of the module that made them, as far as it ran.

    A module that is called several times, such as in generation, or again in the backward pass by
    gradient checkpointing, has as many calls, in that order. Where only rows were asked for,
    no queries and keys are held, so the mapping is empty, and `weights` and `rows` have them.
    """

    _repr_html_ = as_html

    def __init__(
        self,
        expected: tuple[str, ...],
        *,
        heads: tuple[int, ...] | None = None,
        rows: Rows | None = None,
        values: bool = False,
    ) -> None:
        self._expected, self._heads, self._rows, self._values = expected, heads, rows, values
        self._biases = Once(lambda bias: bias[:, [*(heads or ())]])
        self._calls: dict[str, list[Seen]] = {}
        self._weights: dict[str, list[Tensor]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The modules that were seen, in the order of their first calls."""
        return tuple(self._calls if self._rows is None else self._weights)

    @property
    def missed(self) -> tuple[str, ...]:
        """Attention layers that made no call that could be seen.

        They compute attention themselves, were not reached, or have not run yet.
        """
        seen = [f"{name}." for name in self.names]
        return tuple(
            name for name in self._expected if not any(one.startswith(f"{name}.") for one in seen)
        )

    def last(self, name: str) -> Seen:
        """Return the last call of a module.

        Raises:
            ShapeError: If it made no call, or no module did.
            UnknownName: If there are only calls of others.
            UnsupportedOption: If only rows were asked for.
        """
        self._check_whole()
        return self._of(self._calls, name)[-1]

    def weights(self, name: str) -> list[Float[Tensor, "b h r m"]]:
        """Return the weights of each call of a module, of the rows that were asked for.

        Without `rows`, all n x m weights of each call are computed here.

        Raises:
            ShapeError: If it made no call, or no module did.
            UnknownName: If there are only calls of others.
        """
        if self._rows is not None:
            return [*self._of(self._weights, name)]
        return [seen.weights() for seen in self._of(self._calls, name)]

    def rows(self, name: str) -> Float[Tensor, "s b h m"]:
        """Return the rows that were asked for one after the other, as a generation made them.

        Keys that a call did not have yet have weights of 0.

        Raises:
            UnknownName: If there are only calls of other modules.
            UnsupportedOption: If no rows were asked for.
            ShapeError: If it made no call, or its calls differ in sequences or heads.
        """
        if self._rows is None:
            raise UnsupportedOption(
                'queries and keys were kept, and rows are those of capture(rows="last"): ask '
                "last(name).weights(rows) for the weights of some queries."
            )
        return padded(self._of(self._weights, name))

    def __getitem__(self, name: str) -> tuple[Seen, ...]:
        return tuple(self._calls[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __repr__(self) -> str:
        held = self._calls if self._rows is None else self._weights
        calls, layers = sum(map(len, held.values())), len(held)
        count = (
            f"{calls} call{'' if calls == 1 else 's'} of {layers} layer{'' if layers == 1 else 's'}"
            if held
            else "no call of attention was seen"
        )
        what = "" if self._rows is None else f", rows {self._rows!r} alone"
        missed = f", {len(self.missed)} missed" if self.missed else ""
        return f"Captured({count}{what}{missed})"

    def see(self, seen: Seen) -> None:
        """Keep what was asked for of a call."""
        chosen = seen if self._heads is None else self._of_heads(seen, self._heads)
        if self._rows is None:
            self._calls.setdefault(seen.name, []).append(whole(chosen, values=self._values))
        else:
            self._weights.setdefault(seen.name, []).append(rows_of(chosen, self._rows))

    def _of_heads(self, seen: Seen, heads: tuple[int, ...]) -> Seen:
        """Return a call of some heads, whose bias stays one for all layers that share it."""
        own, bias = of_heads(seen, heads), seen.wishes.get("bias")
        if bias is None or bias.shape[1] == 1:
            return own
        wishes = own.wishes.copy()
        wishes["bias"] = self._biases(bias)
        return replace(own, wishes=wishes)

    def _check_whole(self) -> None:
        if self._rows is not None:
            raise UnsupportedOption(
                f"only the rows {self._rows!r} were kept, whose weights are in weights(name): "
                "leave out rows= to keep queries and keys."
            )

    def _of(self, held: dict[str, list[T]], name: str) -> list[T]:
        if name in held:
            return held[name]
        if name in self._expected:
            raise ShapeError(
                f"{name} has made no call that could be seen: run the model within the capture."
            )
        if not held:
            raise ShapeError(UNSEEN)
        raise UnknownName("captured module", name, held)
