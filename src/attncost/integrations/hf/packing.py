"""Packed batches that a model of transformers reads right, or a refusal.

    input_ids 5 6 7 8 9   position_ids 0 1 2 0 1   cu_seq_lens_q, cu_seq_lens_k 0 3 5

Whether texts stay apart, where positions begin and what labels mean depends on the model and on its
attention function, and every mistake in it is silent. So the model is tried once, on two texts of a
few tokens, about ten calls. Nothing that decides on what is right is looked up by its name; what
decides on prices alone is, whether attention computes each text by itself (`documents`).

What a trial of few tokens cannot see is what depends on how many there are. The frequencies of
longrope depend on how long the texts of a row are, in padded batches, too; and some models, such as
GPT-Neo, raise an error for a row, not a text, beyond their `max_position_embeddings`. And the trial
is of its time: whoever gives the model another attention function after it must make a new
collator, as texts may then read each other and nothing raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.batches.interface import Batching, check_way
from attncost.batches.labels import Labels
from attncost.batches.machine import Documents
from attncost.batches.outputs import PackedRow
from attncost.batches.packing_collator import PackingCollator
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.core.notebook import as_html
from attncost.integrations.hf.causes import implementations
from attncost.integrations.hf.label_kind import check_compared
from attncost.integrations.hf.packed_pair import PackedPair, bounds, documents_of
from attncost.integrations.hf.positions import Positions
from attncost.integrations.hf.tiny_texts import (
    Probe,
    in_vocabulary,
    padding_of,
    probing,
)
from attncost.integrations.hf.trial import Model


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class PackedTexts:
    """Lays texts one behind the other, as the model that it was made for takes them.

    It goes to `DataLoader(collate_fn=...)` or `Trainer(data_collator=...)`.

    Attributes:
        model: The name of the model's class.
        collator: What lays out the texts.
        positions: Whether the model takes `position_ids`.
        longest: Tokens of the longest text that it has positions for; None without a limit.
        always: What every call is given beside the texts.
        mixing_token: A token that texts must not have, as it changes the others of its row; None
            if there is none.
        skipped: Tokens that texts must not have, as the model leaves them out when it counts
            positions: that of padding, in RoBERTa and its kin.
        documents: How attention takes the texts of a row, for `choose_batching`; told by the names
            of its functions.
    """

    _repr_html_ = as_html

    model: str
    collator: PackingCollator
    positions: bool
    longest: int | None
    always: tuple[tuple[str, bool], ...]
    mixing_token: int | None
    skipped: tuple[int, ...]
    documents: Documents

    def __call__(self, examples: Sequence[object]) -> PackedRow:
        """Return one row of texts.

        Args:
            examples: The texts of a batch, see `attncost.batches.examples`.

        Returns:
            `input_ids` and `position_ids` (1, slots), `cu_seq_lens_q` and `cu_seq_lens_k` (int32),
            `max_length_q` and `max_length_k`, `use_cache=False` for a model that would make a
            cache, and `labels` and whatever else the texts have (1, slots). No `attention_mask`:
            beside one, most models look for no documents. `by_text` takes it, too.

        Raises:
            ShapeError: If a text is longer than the model, or all are empty.
            UnsupportedOption: If a text has a token that changes others, or one that the model
                leaves out when it counts.
        """
        batch = self.collator(examples)
        lengths = batch.pop("lengths")
        self._check(lengths, batch["input_ids"])
        del batch["segments"]  # `cu_seq_lens_q` says it
        tokens = int(lengths.sum())
        behind = batch["input_ids"].shape[1] - tokens
        most = max(1, behind if self.longest is None else self.longest)
        places = batch.pop("position_ids")
        if self.positions:
            places[0, tokens:] = self.collator.first_position + torch.arange(behind) % most
            batch["position_ids"] = places
        padding = torch.tensor([most] * (behind // most) + [behind % most])
        ends = bounds(torch.cat((lengths, padding)))
        return PackedRow({**batch, **ends, **dict(self.always)}, lengths=lengths.tolist())

    def _check(self, lengths: Tensor, ids: Tensor) -> None:
        if not int(lengths.sum()):
            raise ShapeError("a batch must have a token, got empty texts alone: leave them out.")
        if self.longest is not None and int(lengths.max()) > self.longest:
            raise ShapeError(
                f"texts must have at most {self.longest} tokens, the positions of {self.model}, "
                f"got {int(lengths.max())}: cut or split them by attncost.batches.pieces, or raise "
                "max_position_embeddings if the model can go beyond."
            )
        self.check_tokens(ids[0, : int(lengths.sum())])

    def check_tokens(self, ids: Int[Tensor, "t"]) -> None:
        """Refuse tokens of texts with which no packed row is right.

        Raises:
            UnsupportedOption: If there is one.
        """
        found = set(ids.tolist())
        if self.mixing_token in found:
            raise UnsupportedOption(
                f"token {self.mixing_token} in one text changes the others of its row in "
                f"{self.model}: use padded batches for texts that have it."
            )
        if skipped := found.intersection(self.skipped):
            raise UnsupportedOption(
                f"{self.model} leaves token {min(skipped)} out when it counts the positions of a "
                "text, and packed texts are counted one by one: use padded batches for texts that "
                "have it."
            )


def packing_collator(
    model: Model,
    *,
    way: Batching | None = None,
    pad: int | None = None,
    labels: Labels | None = None,
) -> PackedTexts:
    """Return a collator whose packed batches a model reads as if each text were alone.

    The model is tried on its device, in evaluation and without gradients, and left as it was.

    >>> collate = packing_collator(model)  # doctest: +SKIP
    >>> model(**collate([[5, 6, 7], [8, 9]])).last_hidden_state.shape  # doctest: +SKIP
    torch.Size([1, 5, 384])

    Args:
        model: A model of transformers, with the attention function that it will be used with: after
            `set_attn_implementation`, make a new collator.
        way: Says how many slots the row has, see `PackingCollator`: that of the sampler. What fills
            the row up is one more document, or several if the model has too few positions.
        pad: The token that fills the row up; by default that of the model.
        labels: What the labels of the texts are, see `attncost.batches.labels`.

    Raises:
        AttnCostError: If it is no model of transformers, or on the meta device.
        ShapeError: If a number is none, or a way is none.
        UnsupportedOption: If the model does not keep packed texts apart, has no row of outputs for
            each token, or means something else by labels; or if the way does not pack.
    """
    check_way(way, packs=True)
    with probing(model) as probe:
        check_compared(probe, labels)
        found = make_collator(probe, Positions.of(probe))
    pad = found.collator.pad if pad is None else pad
    collator = replace(found.collator, pad=pad, way=way, labels=labels)
    return replace(found, collator=collator)


def make_collator(probe: Probe, positions: Positions, way: Batching | None = None) -> PackedTexts:
    """Return a collator of texts without labels for a model that is being tried.

    Raises:
        UnsupportedOption: If the model does not keep packed texts apart.
    """
    model, packed = probe.model, PackedPair(probe, positions.first)
    name, fault = type(model).__name__, packed.fault()
    if fault is not None:
        by = ", ".join(implementations(model))
        raise UnsupportedOption(f"{name} with {by} attention {fault}: {packed.remedy()}")
    mask: object = getattr(model.config, "mask_token_id", None)
    first = positions.first or 0
    return PackedTexts(
        model=name,
        collator=PackingCollator(pad=padding_of(model), first_position=first, way=way),
        positions=positions.first is not None,
        longest=positions.longest,
        always=tuple(probe.always.items()),
        mixing_token=mask if in_vocabulary(mask, model) and packed.mixes(mask) else None,
        skipped=positions.skipped,
        documents=documents_of(model),
    )
