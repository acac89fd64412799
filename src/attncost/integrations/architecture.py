"""A text model of Hugging Face from its settings alone: on the meta device, without weights.

transformers builds it, with the attention that it would choose; code beside the settings is never
run, and nothing is fetched. What the model computes is one forward pass over whole sequences that
fills a cache, as when it reads a prompt.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from attncost.core.errors import AttnCostError, ShapeError
from attncost.cost.settings import Settings, preset_settings, refuse_own_code
from attncost.integrations.kinds import check_sizes, class_of, kind_of
from attncost.integrations.theirs import foreign

# What an architecture is for, by the end of its name, and the class that builds any such model.
_HEADS: Final = {
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForConditionalGeneration": "AutoModelForSeq2SeqLM",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "EncoderModel": "AutoModelForTextEncoding",
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


def published(name: str) -> Settings:
    """Return the settings of a preset."""
    return {key: value for key, value in preset_settings(name).items() if key != "source"}


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
        ShapeError: If it needs code of its own, reads no tokens, cannot be built, or transformers
            has no such kind of model.
    """
    refuse_own_code(given, model=name)
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise AttnCostError(
            "models of Hugging Face need transformers: pip install 'attncost[hf]'."
        ) from error
    kind = kind_of(given, model=name, known=transformers.CONFIG_MAPPING)
    check_sizes(given, model=name)
    written = class_of(given, model=name, transformers=transformers)
    with foreign(name):
        config = transformers.CONFIG_MAPPING[kind].from_dict(given)
    _check_text(config, name)
    auto = getattr(transformers, _head(written))
    # On the meta device the grouped products of experts exist in bfloat16 alone.
    experts = any(getattr(config, one, None) for one in _EXPERTS)
    kind_of_number = {"dtype": torch.bfloat16} if experts and config.dtype is None else {}
    with foreign(name):
        module: Any = bare(lambda settled: auto.from_config(settled, **kind_of_number), config)
    if module.main_input_name != "input_ids":
        raise _no_text(name, module.main_input_name)
    return Built(module=module, longest=_longest(module, config), trained=_trained(config))


def bare(make: Callable[[Any], nn.Module], config: Any) -> nn.Module:  # noqa: ANN401 -- theirs
    """Make a model without weights that looks at no values, in evaluation mode.

    Args:
        make: Makes it from its configuration, such as its class.
        config: The configuration, which stays as it is.
    """
    config = deepcopy(config)
    if hasattr(config, "use_cache"):
        config.use_cache = True  # Without one, models look at values for packed documents.
    with torch.device("meta"):
        module: Any = make(config)
    module.config.pad_token_id = None  # Or values are looked at for padding, to warn of it.
    return module.eval()  # type: ignore[no-any-return]


def _head(written: str) -> str:
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
