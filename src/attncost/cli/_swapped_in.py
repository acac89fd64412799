"""What a report says of cheaper attention in a model with weights, as far as there is time."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attncost.cli._command import command
from attncost.cli._mapped import has_maps
from attncost.cli._quality_model import NONE, Asked, reading_of
from attncost.core.errors import AttnCostError, ShapeError

if TYPE_CHECKING:
    from attncost.measure.subjects.target import Target
    from attncost.report.material import Material

# What a report reads: about five seconds of one core, in as many runs as there are attentions, one
# more of the model as it is, and one to count.
_REPORT_TOKENS: Final = 512
_REPORT_TEXTS: Final = 32
_LEAST_TEXTS: Final = 6
_REPORT_RUNS: Final = 5
_REPORT_FLOPS: Final = 500_000_000_000


def with_quality(material: "Material", chosen: "Target", *, text: Path | None) -> "Material":
    """Add what cheaper attention changes in a model, if it has weights and the time is there.

    Args:
        material: What a report is made of.
        chosen: The model.
        text: Its lines are what the model reads; passages of the example, if left out.
    """
    from attncost.mechanisms.spelling import spelling
    from attncost.report.quality.models import ModelQuality
    from attncost.train.quality.models.choices import few
    from attncost.train.quality.models.compare import Swaps, compare

    about = "What cheaper attention changes"
    if not has_maps(chosen):
        reason = f"{chosen.name} has no weights here that were trained, or no tokenizer"
        return replace(material, missing=(*material.missing, f"{about}: {reason}."))
    length = min(_REPORT_TOKENS, chosen.configuration.longest or _REPORT_TOKENS)
    texts = affordable(chosen, _typical(chosen, text, length))
    asked = Asked(text=text, length=length, texts=texts, by_layer=NONE)
    try:
        if asked.texts == 0:
            raise ShapeError(
                f"it would take longer than a report has for it; attncost quality {chosen.name} "
                "takes that time."
            )
        swaps = Swaps(attentions=lambda n, ahead: few(n, ahead=ahead), alone=False)
        found = compare(reading_of(chosen.name, asked), swaps)
    except AttnCostError as error:  # It can be reported on all the same.
        return replace(material, missing=(*material.missing, f"{about}: {error}"))
    again = {
        "attention": ",".join(map(spelling, few(found.longest, ahead=found.ahead))),
        "text": text,
        "length": asked.length,
        "texts": asked.texts,
        "by_layer": asked.by_layer,
    }
    made = ModelQuality(found=found, command=command("quality", [chosen.name], again))
    return replace(material, quality=made)


def _typical(chosen: "Target", text: Path | None, length: int) -> int:
    """Return the tokens of a text: those of a mean line, or of a passage."""
    from attncost.integrations.pretrained import token_lengths
    from attncost.report.example import lines

    if text is None or chosen.folder is None:
        return length
    kept = [min(length, one) for one in token_lengths(chosen.folder, lines(text))]
    return max(1, sum(kept) // len(kept))


def affordable(chosen: "Target", length: int) -> int:
    """Return how many texts of so many tokens a report has time for; 0 if hardly any."""
    sizes = chosen.configuration
    each = int(sizes.linear(length).executed) + int(sizes.core(length).dense)
    texts = min(_REPORT_TEXTS, _REPORT_FLOPS // (_REPORT_RUNS * each))
    return texts if texts >= _LEAST_TEXTS else 0
