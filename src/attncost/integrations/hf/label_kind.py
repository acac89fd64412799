"""With which token a model compares a label: its own, or the one before it.

Labels of the wrong kind train something else and raise nothing. So the model is asked: where labels
are shifted, the first one of a text is compared with nothing, and alone it makes no loss. A loss of
one label is asked for, since among several, half precision may round the difference away.
"""

from math import isfinite

import torch

from attncost.batches.labels import IGNORED, Labels
from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.tiny_texts import Probe


def check_compared(probe: Probe, labels: Labels | None) -> None:
    """Refuse labels of a kind that the model does not compare.

    Raises:
        UnsupportedOption: If it compares others, or computes no loss of labels a token, or one that
            tells nothing, such as NaN.
    """
    if labels is None:
        return
    name = type(probe.model).__name__
    second, alone, none = (_loss(probe, labelled) for labelled in (1, 0, None))
    if second is None:
        raise UnsupportedOption(
            f"{name} computes no loss from a label for each token, so labels={labels!r} is of no "
            "use to it: leave it out."
        )
    if not (isfinite(second) and second):
        raise UnsupportedOption(
            f"the loss of {name} must be a number that depends on labels, to see with what it "
            f"compares them, got {second}: check its weights and its num_labels."
        )
    shifted = repr(alone) == repr(none)  # NaN is NaN here
    if shifted == (labels == "own"):
        said = (
            "with the token before it: labels='shifted', or 'ids' to take the ids"
            if labels == "own"
            else "with its own token: labels='own'"
        )
        raise UnsupportedOption(f"{name} compares a label {said}; got labels={labels!r}.")


def _loss(probe: Probe, labelled: int | None) -> float | None:
    """Return the loss of a text with one label at most; None if the model computes none."""
    text = probe.texts[0]
    labels = torch.full_like(text, IGNORED)
    if labelled is not None:
        labels[labelled] = 0
    batch = {"input_ids": text[None], "labels": labels[None], **probe.always}
    try:
        output = probe.model(**batch, return_dict=True)
        loss, rows = output.loss, output.logits.shape[:2]
    except (TypeError, ValueError, AttributeError, IndexError, UnsupportedOption):
        return None  # no such argument, one of another shape, or no label that does not count
    # One number for the whole text may be compared with each label, as in a regression.
    return None if loss is None or rows != text[None].shape else float(loss)
