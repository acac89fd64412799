"""The ways in which papers and programs count the FLOPs of a model, each under its name.

    training = 3 forward + what is computed again        forward = everything else + attention

A backward pass multiplies every matrix twice as often as a forward pass. Where a paper writes its
formula for its own shape, such as 12 d² weights a block, the same terms are taken from the sizes
of the model at hand; embedding lookups, norms and activations are nowhere counted but as said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from attncost.core.counts import Count
from attncost.core.errors import UnknownName
from attncost.core.notebook import as_html
from attncost.cost.configuration import Configuration
from attncost.cost.counting.counted import Counted

Formula: TypeAlias = Callable[[Configuration, Count], Count]

# Chinchilla's price of the softmax for each pair and head; ours is 5, and no part of FLOPs.
_SOFTMAX: Final = 3


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Convention:
    """A way to count FLOPs, by formulas of a model and the length of one sequence.

    Attributes:
        name: What it is asked for by.
        source: Who counts so, with year and identifier.
        counts: What it counts, in words.
        linear: Everything but attention, forward.
        attention: What lies between the projections, forward.
        again: What a training step computes a second time; None for nothing.
        seen: The same of what was counted by watching a module; None if that cannot say.
    """

    _repr_html_ = as_html

    name: str
    source: str
    counts: str
    linear: Formula
    attention: Formula
    again: Formula | None = None
    seen: Callable[[Counted], int] | None = None

    def flops(
        self, configuration: Configuration, length: Count, *, training: bool = False
    ) -> Count:
        """Return the FLOPs of one sequence: of the forward pass, or of a training step.

        >>> from attncost.cost.reading import preset
        >>> convention("6N").flops(preset("gpt-3"), 2048, training=True)
        2145537138622464
        """
        forward = self.linear(configuration, length) + self.attention(configuration, length)
        if not training:
            return forward
        return 3 * forward + (self.again(configuration, length) if self.again else 0)

    def factor(
        self,
        to: "Convention",
        configuration: Configuration,
        length: int,
        *,
        training: bool = False,
    ) -> float:
        """Return what turns FLOPs, or a utilisation, of this convention into those of another.

        Args:
            to: The other convention.
            configuration: The model.
            length: Tokens of a sequence.
            training: Whether the figure is one of training steps.
        """
        ours, theirs = (one.flops(configuration, length, training=training) for one in (self, to))
        return float(theirs / ours)


def conventions() -> tuple[str, ...]:
    """Return the names of all conventions; `exact` is ours and comes first."""
    return tuple(_CONVENTIONS)


def convention(name: str) -> Convention:
    """Return a convention by its name.

    Raises:
        UnknownName: If there is none of this name.
    """
    if name not in _CONVENTIONS:
        raise UnknownName("convention", name, _CONVENTIONS)
    return _CONVENTIONS[name]


def flops_by_convention(
    configuration: Configuration, length: Count, *, training: bool = False
) -> dict[str, Count]:
    """Return the FLOPs of one sequence in every convention.

    Args:
        configuration: The model.
        length: Tokens.
        training: Whether to count a training step instead of a forward pass.
    """
    return {
        name: one.flops(configuration, length, training=training)
        for name, one in _CONVENTIONS.items()
    }


def seen_by_convention(counted: Counted) -> dict[str, int]:
    """Return what was counted in every convention that needs no sizes; recomputation left out."""
    return {name: one.seen(counted) for name, one in _CONVENTIONS.items() if one.seen}


def _everything_else(model: Configuration, n: Count) -> Count:
    return model.linear(n).dense


def _useful(model: Configuration, n: Count) -> Count:
    return model.core(n).useful


def _dense(model: Configuration, n: Count) -> Count:
    return model.core(n).dense


def _half(model: Configuration, n: Count) -> Count:
    return _dense(model, n) // 2


def _nothing(_: Configuration, n: Count) -> Count:
    return 0 * n


def _blocks(model: Configuration, n: Count) -> Count:
    return 2 * model.matrices * n


def _parameters(model: Configuration, n: Count) -> Count:
    return 2 * model.active * n


def _but_embedding(model: Configuration, n: Count) -> Count:
    return 2 * (model.active - model.tables) * n


def _with_embedding(model: Configuration, n: Count) -> Count:
    return 2 * n * model.embedding.vocabulary * model.d_model + _everything_else(model, n)


def _with_softmax(model: Configuration, n: Count) -> Count:
    return _dense(model, n) + _SOFTMAX * model.softmax_heads * n**2


def _blocks_and_attention(model: Configuration, n: Count) -> Count:
    return _blocks(model, n) + _dense(model, n)


def _attention_three_times(model: Configuration, n: Count) -> Count:
    return 3 * _dense(model, n)


def _seen_half(counted: Counted) -> int:
    return int(counted.dense - counted.core.dense // 2)


_CONVENTIONS: Final = {
    one.name: one
    for one in (
        Convention(
            name="exact",
            source="this package",
            counts="the pairs that attention reads",
            linear=_everything_else,
            attention=_useful,
            seen=lambda counted: counted.useful,
        ),
        Convention(
            name="half",
            source="Dao 2023, arXiv:2307.08691; MaxText",
            counts="attention without a mask, halved",
            linear=_everything_else,
            attention=_half,
            seen=_seen_half,
        ),
        Convention(
            name="dense",
            source="PyTorch's FlopCounterMode and most counters",
            counts="attention without a mask",
            linear=_everything_else,
            attention=_dense,
            seen=lambda counted: counted.dense,
        ),
        Convention(
            name="macs",
            source="fvcore, ptflops, thop",
            counts="multiply-adds, half of dense",
            linear=lambda model, n: _everything_else(model, n) // 2,
            attention=_half,
            seen=lambda counted: counted.dense // 2,
        ),
        Convention(
            name="6N",
            source="Brown et al. 2020, arXiv:2005.14165",
            counts="parameters, no attention",
            linear=_parameters,
            attention=_nothing,
        ),
        Convention(
            name="kaplan",
            source="Kaplan et al. 2020, arXiv:2001.08361",
            counts="blocks, attention halved",
            linear=_blocks,
            attention=_half,
        ),
        Convention(
            name="palm",
            source="Chowdhery et al. 2022, arXiv:2204.02311, Appendix B",
            counts="parameters and dense attention",
            linear=_parameters,
            attention=_dense,
        ),
        Convention(
            name="nanochat",
            source="nanochat 2025, `estimate_flops`; torchtitan",
            counts="palm without the embedding",
            linear=_but_embedding,
            attention=_dense,
        ),
        Convention(
            name="chinchilla",
            source="Hoffmann et al. 2022, arXiv:2203.15556, Appendix F",
            counts="dense, softmax, embedding",
            linear=_with_embedding,
            attention=_with_softmax,
        ),
        Convention(
            name="chinchilla-blocks",
            source="Hoffmann et al. 2022, arXiv:2203.15556, Table A4",
            counts="blocks alone, with softmax",
            linear=_blocks,
            attention=_with_softmax,
        ),
        Convention(
            name="narayanan",
            source="Narayanan et al. 2021, arXiv:2104.04473",
            counts="dense, all blocks recomputed",
            linear=_everything_else,
            attention=_dense,
            again=_blocks_and_attention,
        ),
        Convention(
            name="korthikanti",
            source="Korthikanti et al. 2022, arXiv:2205.05198, model FLOPs",
            counts="dense",
            linear=_everything_else,
            attention=_dense,
        ),
        Convention(
            name="korthikanti-hardware",
            source="Korthikanti et al. 2022, arXiv:2205.05198, hardware FLOPs",
            counts="dense, 3 more forward passes of attention",
            linear=_everything_else,
            attention=_dense,
            again=_attention_three_times,
        ),
    )
}
