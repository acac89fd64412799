"""Ways to put texts into batches: ours, and what Hugging Face and sentence-transformers offer.

A contestant holds its batches, collated; what is timed are the forward passes of MiniLM over all of
them. sentence-transformers cannot be given batches, so its time has the tokenizer in it, which is
about 1 %.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoTokenizer, DataCollatorWithPadding, trainer_pt_utils

from attncost.batches.batch import Batch, each_alone
from attncost.batches.interface import Batching
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.packed import Packed
from attncost.integrations.hf.packing import packing_collator
from attncost.integrations.hf.register import register
from attncost.integrations.pretrained import demo_folder, load_model

Inputs = Mapping[str, Any]
Ids = Sequence[Sequence[int]]

BASE: Final = "padded at random, 32"
FLATTENED: Final = "flattening collator"
LONGEST: Final = 512
_SIZES: Final = (4, 8, 16, 32)


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A way with its batches.

    Attributes:
        name: What people call it.
        ours: Whether it is ours.
        run: Computes all batches.
        means: Returns the mean of each text's last hidden states, (texts, features).
    """

    name: str
    ours: bool
    run: Callable[[], object]
    means: Callable[[], Tensor]


def minilm(*, ours: bool) -> nn.Module:
    """Load MiniLM, with our attention or with PyTorch's fused one."""
    return load_model(
        demo_folder(), writes=False, implementation=register("attncost") if ours else "sdpa"
    )


def our_way(way: Batching, model: nn.Module, ids: Ids) -> Contestant:
    """Return one of our ways; texts come in the order given, which is random."""
    batches = way.batches([len(one) for one in ids], range(len(ids)))
    collate = packing_collator(model, way=way) if way.packs else PaddingCollator(way=way)
    collated = [
        (batch, collate([{"input_ids": ids[text]} for text in batch.texts])) for batch in batches
    ]
    return _contestant(repr(way), model, ids, collated, ours=True)


def peers(model: nn.Module, ids: Ids, texts: Sequence[str]) -> Iterator[Contestant]:
    """Give the ways of others, their best option among several sizes included."""
    grouped: Any = trainer_pt_utils.get_length_grouped_indices  # theirs is untyped
    lengths = [len(one) for one in ids]
    for size in (32, 8):
        yield _padded(range(len(ids)), size, model, ids, name=f"padded at random, {size}")
    for size in _SIZES:
        generator = torch.Generator().manual_seed(0)
        order = grouped(lengths, size, generator=generator)
        yield _padded(order, size, model, ids, name=f"group by length, {size}")
    yield _flattened(model, ids)
    yield from _sentence_transformers(texts)


def _padded(
    order: Sequence[int], size: int, model: nn.Module, ids: Ids, *, name: str
) -> Contestant:
    """Return batches of an order, padded by the collator of transformers."""
    collate = DataCollatorWithPadding(AutoTokenizer.from_pretrained(demo_folder()))
    batches = [each_alone(order[i : i + size]) for i in range(0, len(order), size)]
    collated = [
        (batch, dict(collate([{"input_ids": list(ids[text])} for text in batch.texts])))
        for batch in batches
    ]
    return _contestant(name, model, ids, collated)


def _flattened(model: nn.Module, ids: Ids) -> Contestant:
    """Return the flattening collator of transformers, with everything that it can tell a model."""
    make: Any = transformers.DataCollatorWithFlattening  # theirs is untyped
    collate = make(return_flash_attn_kwargs=True)
    batches = Packed(2048).batches([len(one) for one in ids], range(len(ids)))
    collated = []
    for batch in batches:
        inputs = dict(collate([{"input_ids": list(ids[text])} for text in batch.texts]))
        del inputs["labels"]
        collated.append((batch, inputs))
    return _contestant(FLATTENED, model, ids, collated)


def _sentence_transformers(texts: Sequence[str]) -> Iterator[Contestant]:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 -- takes seconds

    encoder = SentenceTransformer(str(demo_folder()), device="cpu", local_files_only=True)
    encoder.max_seq_length = LONGEST

    def encoded(size: int) -> Tensor:
        return encoder.encode(
            list(texts), batch_size=size, convert_to_tensor=True, show_progress_bar=False
        )

    for size in (32, 8):
        run = partial(encoded, size)
        # It returns vectors of length 1, which the means of others become for a comparison.
        yield Contestant(name=f"sentence-transformers, {size}", ours=False, run=run, means=run)


def _contestant(
    name: str,
    model: nn.Module,
    ids: Ids,
    collated: Sequence[tuple[Batch, Inputs]],
    *,
    ours: bool = False,
) -> Contestant:
    def run() -> None:
        for _, inputs in collated:
            model(**inputs)

    def means() -> Tensor:
        found: dict[int, Tensor] = {}
        for batch, inputs in collated:
            hidden = model(**inputs).last_hidden_state
            lengths = [len(ids[text]) for text in batch.texts]
            padded = len(hidden) == len(lengths)
            rows = hidden if padded else hidden[0, : sum(lengths)].split(lengths)
            parts = (row[:n].mean(0) for row, n in zip(rows, lengths, strict=True))
            found |= zip(batch.texts, parts, strict=True)
        return torch.stack([found[text] for text in sorted(found)])

    return Contestant(name=name, ours=ours, run=run, means=means)
