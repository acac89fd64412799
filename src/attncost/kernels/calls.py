"""Whether the tensors of a call belong together, in words for whoever made it."""

import math

from torch import Tensor

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.core.options import Options
from attncost.kernels.interface import Call
from attncost.patterns.interface import Pattern


def checked(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, options: Options) -> Call:
    """Return the call that tensors make.

    Raises:
        ShapeError: If they do not belong together.
    """
    if not isinstance(pattern, Pattern):
        raise ShapeError(
            f"pattern must be a pattern such as attncost.Causal(), got {pattern!r}; "
            "attncost.pattern(name) makes one by its name."
        )
    dims = Dims.of(q.shape, k.shape, v.shape, itemsize=q.element_size())
    if not q.is_floating_point() or not q.dtype == k.dtype == v.dtype:
        raise ShapeError(
            f"q, k and v must have one floating-point type, got {q.dtype}, {k.dtype}, {v.dtype}."
        )
    places = {x.device for x in (q, k, v)} | {x.device for x in options.tensors()}
    if len(places) != 1:
        found = ", ".join(sorted(map(str, places)))
        raise ShapeError(f"all tensors must be on one device, got {found}: move them with `to`.")
    _check_masks(options, dims)
    _check_scores(options, dims)
    grad = any(x.requires_grad for x in (q, k, v))
    return Call(pattern, dims, options, device=q.device.type, grad=grad)


def _check_masks(options: Options, dims: Dims) -> None:
    mask, expected = options.key_mask, (dims.batch, dims.kv_length)
    if mask is not None and str(mask.dtype) != "torch.bool":
        raise ShapeError(f"key_mask must be boolean (True = may be read), got {mask.dtype}.")
    if mask is not None and mask.shape != expected:
        raise ShapeError(
            f"key_mask must have shape (batch, kv_length) = {expected}, got {tuple(mask.shape)}."
        )
    segments, tokens = options.segments, (dims.batch, max(dims.length, dims.kv_length))
    if segments is not None and (segments.is_floating_point() or segments.dtype.is_complex):
        raise ShapeError(f"segments must be whole numbers, got {segments.dtype}.")
    if segments is not None and segments.shape != tokens:
        raise ShapeError(
            f"segments must have shape (batch, max(length, kv_length)) = {tokens}, "
            f"got {tuple(segments.shape)}."
        )


def _check_scores(options: Options, dims: Dims) -> None:
    for name in ("alibi", "sink"):
        numbers: Tensor | None = getattr(options, name)
        if numbers is not None and not numbers.is_floating_point():
            raise ShapeError(f"{name} must be floating-point, got {numbers.dtype}.")
        if numbers is not None and numbers.shape != (dims.heads,):
            raise ShapeError(
                f"{name} must have one number for each of the {dims.heads} heads, "
                f"got shape {tuple(numbers.shape)}."
            )
    _check_numbers(options)
    bias, scores = options.bias, (dims.batch, dims.heads, dims.length, dims.kv_length)
    if bias is not None and not bias.is_floating_point():
        raise ShapeError(
            f"bias is added to the scores and must be floating-point, got {bias.dtype}; "
            "what may not be read at all belongs in key_mask, segments or the pattern."
        )
    if bias is not None and not _broadcasts(tuple(bias.shape), scores):
        raise ShapeError(
            f"bias must have the axes (batch, heads, length, kv_length) = {scores} or 1 in place "
            f"of one, got {tuple(bias.shape)}."
        )


def _check_numbers(options: Options) -> None:
    if options.softcap is not None and not 0 < options.softcap < math.inf:
        raise ShapeError(f"softcap must be a number greater than 0, got {options.softcap}.")
    if options.scale is not None and not math.isfinite(options.scale):
        raise ShapeError(f"scale must be a finite number, got {options.scale}.")
    if not 0 <= options.dropout_p < 1:
        raise ShapeError(f"dropout_p must lie in [0, 1), got {options.dropout_p}.")


def _broadcasts(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    return len(shape) == len(full) and all(
        size in (1, whole) for size, whole in zip(shape, full, strict=True)
    )
