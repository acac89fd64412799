"""A text model of Hugging Face from its settings alone: on the meta device, without weights.

transformers builds it, with the attention that it would choose; code beside the settings is never
run, and nothing is fetched. What the model computes is one forward pass over whole sequences that
fills a cache, as when it reads a prompt.
"""

import json
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from attncost.core.errors import AttnCostError, ShapeError, UnknownName
from attncost.cost.settings import Settings
from attncost.integrations.theirs import explained

# What an architecture is for, by the end of its name, and the class that builds any such model.
_HEADS: Final = {
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForConditionalGeneration": "AutoModelForSeq2SeqLM",
}
_EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts")
_LEARNED: Final = ("position", "wpe", "pos_emb")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """A model without weights.

    Attributes:
        module: The model, in evaluation mode.
        longest: Tokens that its positions allow, if it learned them; else None.
        trained: Tokens that it was trained for, if its settings say so.
    """

    module: nn.Module
    longest: int | None
    trained: int | None

    def inputs(self, length: int, batch: int) -> dict[str, Tensor]:
        """Return tokens, for the decoder as many as for the encoder."""
        tokens = torch.zeros(batch, length, dtype=torch.long, device="meta")
        writes = getattr(self.module.config, "is_encoder_decoder", False)
        return {"input_ids": tokens} | ({"decoder_input_ids": tokens} if writes else {})


def settings(path: Path) -> Settings:
    """Read the settings of a folder of Hugging Face, or of its `config.json`.

    Raises:
        ShapeError: If there is no such file, or it holds something else.
    """
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise ShapeError(
            f"{path} has no config.json: expected the folder of a Hugging Face model, or that file."
        )
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ShapeError(f"{file} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ShapeError(f"{file} must hold an object of settings, got {type(found).__name__}.")
    return found


def published(name: str) -> Settings:
    """Return the settings of a preset."""
    text = (files("attncost.cost") / "presets" / f"{name}.json").read_text(encoding="utf-8")
    found: Settings = json.loads(text)
    return {key: value for key, value in found.items() if key != "source"}


def cached(name: str) -> Path | None:
    """Return the settings of a model in the local cache of Hugging Face, if it is there."""
    try:
        hub = import_module("huggingface_hub")
        found = hub.try_to_load_from_cache(name, "config.json")
    except (ImportError, ValueError):  # no transformers, or no name of a model
        return None
    return Path(found) if isinstance(found, str) else None


def build(given: Settings, *, name: str) -> Built:
    """Build a model.

    Args:
        given: Its settings.
        name: What to call it in an error.

    Raises:
        AttnCostError: If transformers is not there.
        ShapeError: If it needs code of its own, reads no tokens, or cannot be built.
        UnknownName: If transformers has no such kind of model.
    """
    if "auto_map" in given:
        raise ShapeError(
            f"{name} needs code of its own ({', '.join(sorted(given['auto_map']))}), which is "
            "never run: give a model whose architecture comes with transformers."
        )
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise AttnCostError(
            "models of Hugging Face need transformers: pip install 'attncost[hf]'."
        ) from error
    kind = str(given.get("model_type", ""))
    if kind not in transformers.CONFIG_MAPPING:
        raise UnknownName("model_type of transformers", kind, transformers.CONFIG_MAPPING)
    with explained(name):
        config = transformers.CONFIG_MAPPING[kind].from_dict(given)
    _check_text(config, name)
    if hasattr(config, "use_cache"):
        config.use_cache = True  # Without one, models look at values for packed documents.
    auto = getattr(transformers, _head(given))
    # On the meta device the grouped products of experts exist in bfloat16 alone.
    experts = any(getattr(config, one, None) for one in _EXPERTS)
    kind_of_number = {"dtype": torch.bfloat16} if experts and config.dtype is None else {}
    with explained(name), torch.device("meta"):
        module = auto.from_config(config, **kind_of_number).eval()
    module.config.pad_token_id = None  # Or values are looked at for padding, to warn of it.
    if module.main_input_name != "input_ids":
        raise _no_text(name, module.main_input_name)
    return Built(module=module, longest=_longest(module, config), trained=_trained(config))


def _head(given: Settings) -> str:
    written = str((given.get("architectures") or [""])[0])
    return next((auto for end, auto in _HEADS.items() if written.endswith(end)), "AutoModel")


def _check_text(config: Any, name: str) -> None:  # noqa: ANN401 -- theirs is untyped
    for part in ("vision_config", "audio_config", "image_size", "num_mel_bins"):
        if getattr(config, part, None) is not None:
            raise _no_text(name, part)


def _no_text(name: str, reads: str) -> ShapeError:
    return ShapeError(
        f"{name} reads more than tokens ({reads}), and its inputs cannot be guessed: write a "
        "function that returns (module, inputs), and give it as package.module:function."
    )


def _longest(module: nn.Module, config: Any) -> int | None:  # noqa: ANN401 -- theirs is untyped
    """Return how many positions were learned; rotated and relative ones have no end."""
    ends = [
        # With a number for padding, positions begin after it, as in RoBERTa.
        table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
        for name, table in module.named_modules()
        if isinstance(table, nn.Embedding) and any(word in name for word in _LEARNED)
    ]
    return min([*ends, _trained(config) or ends[0]]) if ends else None


def _trained(config: Any) -> int | None:  # noqa: ANN401 -- theirs is untyped
    found = getattr(config, "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else None
