"""Models of transformers with our attention and with theirs, for `benchmarks.models`.

Contestants are twins, which share every weight and differ in the attention that they ask for: so no
time goes into switching from one to the other.
"""

import copy
from functools import cache
from itertools import chain
from typing import Any, Final, TypeAlias

import torch
from benchmarks.case import Case, without_gradients
from torch import Tensor

import attncost as ac
from attncost.integrations.pretrained import demo_folder, load_model
from attncost.measure.clocks.interface import Run

WIDTH: Final = 256
STEPS: Final = 32
BATCH: Final = 4
# The longest sequence for which the dense mask of a window is made.
DENSE: Final = 2048
_VOCABULARY: Final = 1000
_LONGEST: Final = 16_384

# What is ours; anything else is the name of theirs, with the mask of the window behind a comma.
_OURS: Final = {"exact": ac.Full(), "window": ac.Window(WIDTH)}
_MASKED: Final = "sdpa, window"

Model: TypeAlias = Any  # theirs are untyped


def encoding(length: int, *, padded: bool) -> Case:
    """Return MiniLM with its real weights on a batch, its texts of unequal lengths if padded."""
    tokens = torch.randint(1000, 20_000, (BATCH, length), generator=_seeded())
    shortest = length // BATCH if padded else length
    real = torch.arange(length) < torch.linspace(length, shortest, BATCH)[:, None]
    asked = {"input_ids": tokens, "attention_mask": real.long()}
    names = ("sdpa", "exact", "eager")
    return Case(
        subject="MiniLM",
        where=f"{BATCH} x {length}" + ", padded" * padded,
        calls={name: _forward(_twin(_minilm(), name), asked, real) for name in names},
        alike=(names,),
        limits={("exact", "sdpa"): 1.25},
    )


def reading(length: int, *, window: float | None = None) -> Case:
    """Return a small model like Llama that reads a text up to the logits of what comes next.

    Args:
        length: Tokens.
        window: The most that the time of the window may be as a multiple of theirs.
    """
    tokens = torch.randint(_VOCABULARY, (1, length), generator=_seeded())
    asked: dict[str, Any] = {"input_ids": tokens, "use_cache": False, "logits_to_keep": 1}
    calls = {name: _forward(_twin(_llama(), name), asked) for name in ("sdpa", "exact", "window")}
    if length <= DENSE:
        masked = asked | {"attention_mask": _band(length, length)}
        calls[_MASKED] = _forward(_twin(_llama(), _MASKED), masked)
    return _like_llama("Llama", f"{length:,}", calls, exact=1.25, window=window)


def decoding(prompt: int, *, window: float | None = None) -> Case:
    """Return the same model writing tokens after a prompt, one at a time.

    Args:
        prompt: Tokens before them.
        window: The most that the time of the window may be as a multiple of theirs.
    """
    names = ["sdpa", "exact", *["window", _MASKED] * (window is not None)]
    calls = {name: _writing(name, prompt) for name in names}
    return _like_llama("decoding", f"from {prompt:,}", calls, exact=1.35, window=window)


def _like_llama(
    subject: str, where: str, calls: dict[str, Run], *, exact: float, window: float | None
) -> Case:
    alike = (("sdpa", "exact"), (_MASKED, "window"))
    limits = {("exact", "sdpa"): exact}
    if window is not None:
        limits["window", "sdpa"] = window
    return Case(
        subject=subject,
        where=where,
        calls=calls,
        alike=tuple(pair for pair in alike if calls.keys() >= set(pair)),
        limits=limits,
        steps=STEPS if subject == "decoding" else 1,
    )


def _forward(model: Model, asked: dict[str, Any], rows: Tensor | None = None) -> Run:
    """Return a forward pass, and its results in those rows that are no padding."""

    def forward() -> Tensor:
        result: Tensor = model(**asked)[0]
        return result if rows is None else result[rows]

    return without_gradients(forward)


def _writing(name: str, prompt: int) -> Run:
    """Return the steps after a prompt; the text grows from call to call, so all sizes are new."""
    from transformers import DynamicCache  # noqa: PLC0415 -- optional

    model = _twin(_llama(), name)
    tokens = torch.randint(_VOCABULARY, (1, _LONGEST), generator=_seeded())
    kept = DynamicCache(config=model.config)

    def logits(start: int, stop: int) -> Tensor:
        mask = _band(stop - start, stop) if name == _MASKED else torch.ones(1, stop).long()
        found: Tensor = model(
            tokens[:, start:stop],
            attention_mask=mask,
            cache=kept,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        return found

    def write() -> Tensor:
        first = kept.get_seq_length()
        return torch.cat([logits(at, at + 1) for at in range(first, first + STEPS)])

    with torch.no_grad():
        logits(0, prompt)
    return without_gradients(write)


def _twin(model: Model, name: str) -> Model:
    """Return a model of the same weights with the attention of a contestant."""
    weights = chain(model.parameters(), model.buffers())
    twin = copy.deepcopy(model, {id(weight): weight for weight in weights})
    pattern = _OURS.get(name)
    asked = name.partition(",")[0] if pattern is None else ac.hf.register(f"bench_{name}", pattern)
    twin.set_attn_implementation(asked)
    return twin


@cache
def _minilm() -> Model:
    return load_model(demo_folder(), writes=False, implementation="sdpa")


@cache
def _llama() -> Model:
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415 -- optional

    torch.manual_seed(0)
    configuration = LlamaConfig(
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=_VOCABULARY,
        max_position_embeddings=_LONGEST,
        # Sharp enough for results to depend on what is read.
        initializer_range=0.06,
    )
    model: Model = LlamaForCausalLM(configuration)
    return model.eval()


def _band(length: int, kv_length: int) -> Tensor:
    """Return the mask (1, 1, n, m) of the window, True where a key is read."""
    return ac.Window(WIDTH).mask(length, kv_length)[None, None]


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)
