"""Calls of products, norms, softmax, losses, attention and PyTorch's fused layers."""

from itertools import product

import torch
from tests.cost.memory.laid import (
    BF16,
    BOOL,
    F32,
    F64,
    FLOATS,
    SHAPE,
    calls,
    drawn,
    every,
    laid,
    like,
    places,
)

ATEN = torch.ops.aten


FACTORS = [(F32, 12, 7, 9), (F32, 3, 4, 5), (F32, 1, 8, 60), (F64, 12, 7, 9), (BF16, 12, 7, 9)]
# As much as PyTorch multiplies by itself, and more, which oneDNN takes on some CPUs.
FACTORS += [(BF16, 16, 16, 16), (BF16, 90, 50, 60), (torch.float16, 90, 50, 60)]


@calls(["mm", "addmm", "bmm", "baddbmm", "mv", "dot"])
def multiplied(name):
    found = []
    for dtype, rows, inner, columns in FACTORS:
        batch = (3,) if "bmm" in name else ()
        some = slice(None, None, 1 if dtype == F32 else 3)
        lefts = laid(*batch, rows, inner, dtype=dtype)[some]
        rights = laid(*batch, inner, columns, dtype=dtype)[some]
        if name == "aten::mv":
            found += product(lefts, laid(inner, dtype=dtype))
        elif name == "aten::dot":
            found += [(a[0], b[:, 0]) for a, b in product(lefts, rights)]
            found += [(drawn(5000, dtype=dtype), drawn(5000, dtype=dtype))]
        elif "add" in name:
            biases = drawn(columns, dtype=dtype), drawn(*batch, rows, columns, dtype=dtype)
            found += [(biases[len(found) % 2], a, b) for a, b in product(lefts, rights)]
        else:
            found += product(lefts, rights)
    return found


@calls(["_softmax", "_log_softmax"])
def softmax(_):
    return [(x, dim, False) for x in every(*SHAPE) for dim in (0, 1, -1)]


@calls("_safe_softmax")
def safe_softmax(_):
    found = [(x, dim) for x in every(*SHAPE) for dim in (0, 1, -1)]
    return [*found, (drawn(2, 3), 1), (drawn(1, 40), 1)]


@calls(["_softmax_backward_data", "_log_softmax_backward_data"])
def softmax_backward(_):
    pairs = [pair for x in every(*SHAPE) for pair in ((x, like(x)), (like(x), x), (x, x))]
    return [(*pair, dim, pair[0].dtype) for pair in pairs for dim in (1, -1)]


def affine(x, *, given):
    return (drawn(x.shape[-1], dtype=x.dtype),) * 2 if given else (None, None)


@calls("native_layer_norm")
def layer_norm(_):
    return [
        (x, [6], *affine(x, given=given), 1e-5) for x in every(*SHAPE) for given in (True, False)
    ]


@calls("native_layer_norm_backward")
def layer_norm_backward(_):
    found = []
    for x in every(*SHAPE):
        for grad, given in ((like(x), x), (x, like(x)), (x, x)):
            _, mean, deviation = ATEN.native_layer_norm(given, [6], None, None, 1e-5)
            whole, saved = affine(x, given=True), (grad, given, [6], mean, deviation)
            masks = ([True] * 3, [True, False, False], [False, True, True])
            found += [(*saved, *whole, mask) for mask in masks]
            found.append((*saved, None, None, [True, False, False]))
    return found


@calls("_fused_rms_norm")
def rms_norm(_):
    return [(x, [6], affine(x, given=given)[0], 1e-6) for x in every(*SHAPE) for given in (1, 0)]


@calls(["nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward"])
def nll_loss(name):
    flat = "2d" not in name
    shape, wanted = ((20, 6), (20,)) if flat else ((4, 6, 5, 3), (4, 5, 3))
    found = []
    # Backward, PyTorch wants scores on a plane to be contiguous.
    tensors = [drawn(*shape, dtype=dtype) for dtype in FLOATS] if _planes(name) else every(*shape)
    for x in tensors:
        for reduction in (0, 1, 2):
            target = places(*wanted, below=6)
            if "forward" in name:
                apart = torch.stack([target, target], -1)[..., 0]
                found += [(x, each, None, reduction, -100) for each in (target, apart)]
                continue
            grad = drawn(*(wanted if reduction == 0 else ()), dtype=x.dtype)
            weight = torch.tensor(20.0, dtype=x.dtype)
            found.append((grad, x, target, None, reduction, -100, weight))
    return found


def _planes(name):
    return name == "aten::nll_loss2d_backward"


@calls(["mse_loss", "mse_loss_backward"])
def mse_loss(name):
    back = "backward" in name
    found = []
    for x in every(20, 6):
        for reduction in (0, 1, 2):
            grad = [drawn(*((20, 6) if reduction == 0 else ()), dtype=x.dtype)] if back else []
            found.append((*grad, x, like(x), reduction))
    return found


SIZES = [(2, 4, 48, 48, 16), (1, 2, 200, 600, 8), (1, 1, 800, 530, 8), (2, 3, 1, 77, 8)]


def attention_inputs():
    """Return queries and keys, with heads of their own, that lie as they are or by length."""
    for dtype, (b, h, n, m, d) in product((*FLOATS, torch.float16), SIZES):
        if dtype != F32 and n > 200:
            continue
        by_length = drawn(b, n, h, d, dtype=dtype).transpose(1, 2)
        yield drawn(b, h, n, d, dtype=dtype), drawn(b, h, m, d, dtype=dtype)
        yield by_length, drawn(b, m, h, d, dtype=dtype).transpose(1, 2)
        yield by_length, drawn(b, 1, m, d, dtype=dtype)


@calls("_scaled_dot_product_flash_attention_for_cpu")
def flash(_):
    found = []
    for query, key in attention_inputs():
        mask = {"attn_mask": drawn(query.shape[2], key.shape[2], dtype=query.dtype)}
        found += [(query, key, key), ((query, key, key), mask), (query, key, key, 0.0, True)]
    return found


@calls("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_backward(_):
    found = []
    for query, key in attention_inputs():
        forward = ATEN._scaled_dot_product_flash_attention_for_cpu
        out, lse = forward(query, key, key)
        b, h, n, d = query.shape
        grads = [
            like(query),
            drawn(b, n, h, d, dtype=query.dtype).transpose(1, 2),
            drawn(1, 1, 1, 1, dtype=query.dtype).expand(query.shape),
        ]
        found += [(grad, query, key, key, out, lse, 0.0, False) for grad in grads]
    return found


def weights(*shapes, dtype):
    return [drawn(*shape, dtype=dtype) for shape in shapes]


@calls("_native_multi_head_attention")
def native_attention(_):
    found = []
    for dtype, (b, n, d, h) in product(FLOATS, ((2, 48, 32, 4), (3, 5, 24, 2), (2, 7, 64, 1))):
        x, other = drawn(b, n, d, dtype=dtype), drawn(b, n, d, dtype=dtype)
        projections = weights((3 * d, d), (3 * d,), (d, d), (d,), dtype=dtype)
        padding, causal = drawn(b, n), drawn(n, n, dtype=BOOL)
        for key, value in ((x, x), (other, other), (other, x)):
            given = (x, key, value, d, h, *projections)
            found += [given, (*given, None, False), (*given, None, True, False)]
            found += [(*given, padding, False, True, 1), (*given, causal, True, True, 0)]
    return found


@calls("_transformer_encoder_layer_fwd")
def encoder_layer(_):
    found = []
    sizes = ((2, 48, 32, 4, 64), (3, 5, 24, 2, 96), (2, 7, 64, 1, 256), (2, 40, 16, 1, 8))
    for dtype, (b, n, d, h, hidden) in product(FLOATS, sizes):
        attention = weights((3 * d, d), (3 * d,), (d, d), (d,), dtype=dtype)
        norms = weights((d,), (d,), (d,), (d,), dtype=dtype)
        feed = weights((hidden, d), (hidden,), (d, hidden), (d,), dtype=dtype)
        for gelu, first, mask in product((True, False), (True, False), (None, 0, 1)):
            masked = [] if mask is None else [drawn(*((n, n) if mask == 0 else (b, n))), mask]
            x = drawn(b, n, d, dtype=dtype)
            found.append((x, d, h, *attention, gelu, first, 1e-5, *norms, *feed, *masked))
    return found
