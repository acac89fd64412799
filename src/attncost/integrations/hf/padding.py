"""Padded batches for a model of transformers: on the right, with its own padding token."""

from attncost.batches.interface import Batching, check_way
from attncost.batches.labels import Labels
from attncost.batches.padding_collator import PaddingCollator
from attncost.integrations.hf.label_kind import check_compared
from attncost.integrations.hf.tiny_texts import padding_of, probing
from attncost.integrations.hf.trial import Model


def padding_collator(
    model: Model, *, way: Batching | None = None, labels: Labels | None = None
) -> PaddingCollator:
    """Return a collator of padded batches for a model.

    Padding lies on the right, where it changes no position. The token is that of the model, from
    which RoBERTa and its kin tell what to leave out when they count.

    >>> padding_collator(model, labels="ids")  # doctest: +SKIP
    PaddingCollator(pad=0, side='right', way=None, labels='ids')

    Args:
        model: A model of transformers.
        way: Says how many slots a row has, see `PaddingCollator`: that of the sampler.
        labels: What the labels of the texts are, see `attncost.batches.labels`.

    Raises:
        AttnCostError: If it is no model of transformers, or on the meta device.
        ShapeError: If the way is none.
        UnsupportedOption: If the model means something else by labels, or the way packs.
    """
    check_way(way, packs=False)
    with probing(model) as probe:
        check_compared(probe, labels)
    return PaddingCollator(pad=padding_of(model), way=way, labels=labels)
