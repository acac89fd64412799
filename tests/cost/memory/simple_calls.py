"""Calls of operations that treat each number alike, reduce, copy, gather or make a step."""

import torch
from tests.cost.memory.laid import (
    BF16,
    BOOL,
    F32,
    F64,
    FLOATS,
    I64,
    SHAPE,
    calls,
    drawn,
    every,
    like,
    places,
)

from attncost.cost.memory.scratch import elementwise, gathers, movement, optimizers, reductions


def in_place(name):
    return name.endswith("_")


@calls(elementwise.UNARY)
def unary(name):
    whole = name not in ("aten::bitwise_not",)
    dtypes = FLOATS if whole else (I64,)
    integers = [] if in_place(name) or name.split("::")[1] in _OF_FRACTIONS else [I64]
    return [(x,) for x in every(*SHAPE, dtypes=(*dtypes, *integers), shared=not in_place(name))]


_OF_FRACTIONS = ("gelu", "silu", "elu", "softplus", "hardtanh")


@calls(elementwise.BINARY)
def binary(name):
    truth = [] if "sub" in name else [True]
    others = [drawn(6), drawn(6, dtype=F64), drawn(), drawn(dtype=F64), 2, 2.5, *truth]
    found = []
    for x in every(*SHAPE, dtypes=(*FLOATS, I64), shared=not in_place(name))[::2]:
        whole = not in_place(name) and name != "aten::logaddexp"
        if whole or x.dtype != I64:
            numbers = [y for y in others if isinstance(y, torch.Tensor) or name not in _TENSORS]
            found += [(x, y) for y in (like(x), *numbers)]
    return found


_TENSORS = [
    f"aten::{name}"
    for name in ("maximum", "minimum", "logical_and", "logical_or", "atan2", "logaddexp")
]


@calls(elementwise.BITS)
def bits(name):
    if in_place(name):
        return [(x, y) for x in every(*SHAPE, dtypes=(I64,), shared=False) for y in (like(x), 2)]
    mixed = [(drawn(*SHAPE, dtype=BOOL), drawn(6, dtype=I64)), (drawn(6, dtype=I64), 2)]
    return [*mixed, *((x, like(x)) for x in every(*SHAPE, dtypes=(I64, BOOL)))]


@calls(elementwise.SHIFTS)
def shifts(_):
    others = (2, drawn(6, dtype=I64), drawn(6, dtype=torch.int32))
    return [(x, y) for x in every(*SHAPE, dtypes=(I64, torch.int32)) for y in others]


@calls("pow")
def power(_):
    exponents = (2, 0.5, drawn(6), drawn(6, dtype=F64))
    return [(x, y) for x in every(*SHAPE, dtypes=(*FLOATS, I64)) for y in exponents]


@calls("where")
def where(_):
    mask = drawn(5, 6, dtype=BOOL)
    found = [(mask, x, y) for x in every(*SHAPE) for y in (like(x), drawn(6), drawn(), 0.0)]
    return [*found, (mask, 1.0, drawn(*SHAPE))]


@calls(["masked_fill", "masked_fill_", *elementwise.ALIKE])
def several(name):
    mask, name = drawn(5, 6, dtype=BOOL), name.split("::")[1].rstrip("_")
    others = {
        "masked_fill": lambda x: (mask, -1.0),
        "lerp": lambda x: (like(x), 0.1),
        "clamp": lambda x: (-1.0, 1.0),
        "clamp_min": lambda x: (-1.0,),
        "clamp_max": lambda x: (1.0,),
        "threshold_backward": lambda x: (like(x), 0),
    }.get(name, lambda x: (like(x), like(x))[: 1 if "backward" in name else 2])
    return [(x, *others(x)) for x in every(*SHAPE, shared=False)]


@calls("gelu_backward")
def gelu_backward(_):
    found = [pair for x in every(*SHAPE) for pair in ((x, like(x)), (like(x), x), (x.clone(), x))]
    return found + [((*pair,), {"approximate": "tanh"}) for pair in found[:20]]


@calls("native_dropout")
def dropout(_):
    return [(x, p, train) for x in every(*SHAPE) for p, train in ((0.1, True), (0.1, False))]


@calls(["bernoulli", "bernoulli_", "normal_", "uniform_", "exponential_"])
def drawn_in_place(name):
    return [(x.sigmoid() if name == "aten::bernoulli" else x,) for x in every(*SHAPE, shared=False)]


@calls(["sum", "prod", "mean", "any", "all", "amax", "amin", "max", "min", "argmax", "argmin"])
@calls(["cumsum", "var", "std", "var_mean", "std_mean", "logsumexp", "sort", *reductions.DIRECT])
def reduced(name):
    name = name.split("::")[1]
    listed = name in ("sum", "mean", "amax", "amin", "var", "std", "var_mean", "std_mean")
    dtypes = (F32, F64, BF16) if name in _OF_MEANS else (F32, F64, BF16, I64)
    found = []
    for x in every(*SHAPE, dtypes=dtypes):
        if name == "linalg_vector_norm":
            found += [(x, 2, dim) for dim in (None, [0], [-1])]
            continue
        axes = [([dim],) if listed or name == "logsumexp" else (dim,) for dim in (0, 1, -1)]
        whole = name not in ("cumsum", "logsumexp", "sort", "topk", "amax", "amin")
        rest = [(2, *axis) for axis in axes] if name == "topk" else axes
        found += [(x, *given) for given in rest] + ([(x,)] if whole else [])
    return found


_OF_MEANS = ("mean", "var", "std", "var_mean", "std_mean", "logsumexp", "linalg_vector_norm")


@calls(movement.COPIES)
def copied(name):
    name = name.split("::")[1]
    others = {
        "_to_copy": lambda x: ((x,), {"dtype": BF16}),
        "copy_": lambda x: (x, drawn(6)),
        "stack": lambda x: ([x, like(x)], 1),
        "roll": lambda x: (x, [1], [2]),
        "flip": lambda x: (x, [2]),
        "constant_pad_nd": lambda x: (x, [1, 2]),
        "slice_backward": lambda x: (x, [3, 4, 5, 9], 3, 1, 7, 1),
        "select_backward": lambda x: (x, [3, 2, 4, 5, 6], 1, 0),
    }.get(name, lambda x: (x,))
    return [others(x) for x in every(*SHAPE, shared=not in_place(name))]


@calls([*movement.NEW, *movement.SHARED])
def new(name):
    name = name.split("::")[1]
    tensors = [(x,) for x in every(*SHAPE)]
    by_name = {
        "arange": [(9,), (9.5,)],
        "linspace": [(0, 1, 9)],
        "eye": [(5,)],
        "scalar_tensor": [(2.0,)],
        "randint": [(9, [3, 4])],
        "full": [([3, 4], 2.0)],
        "full_like": [(*x, 2.0) for x in tensors],
        "new_full": [(*x, [3, 4], 2.0) for x in tensors],
        "empty_strided": [([3, 4], [1, 3])],
        "new_empty_strided": [(drawn(3), [3, 4], [1, 3])],
        "_unsafe_view": [(drawn(12), [3, 4])],
        "_local_scalar_dense": [(drawn(),)],
    }
    if name in by_name:
        return by_name[name]
    if name.startswith("new_"):
        return [(*x, [3, 4]) for x in tensors]
    return tensors if name.endswith("_like") or f"aten::{name}" in movement.SHARED else [([3, 4],)]


@calls(["fill_", "cat", "repeat", "tril", "triu"])
def moved(name):
    others = {
        "fill_": lambda x: (x, 2.0),
        "cat": lambda x: ([x, like(x)], 1),
        "repeat": lambda x: (x, [2, 1, 2, 3, 1]),
    }.get(name.split("::")[1], lambda x: (x, 1))
    found = [others(x) for x in every(*SHAPE, shared=name != "aten::fill_")]
    plain = [] if name in ("aten::fill_", "aten::repeat") else [drawn(5, 6), drawn(6, 5).mT]
    return found + [others(x) for x in plain]


@calls(["embedding"])
def embedding(_):
    return [
        (x, i) for x in every(20, 6) for i in (places(3, 7, below=20), places(7, 3, below=20).mT)
    ]


@calls(["embedding_dense_backward"])
def embedding_backward(_):
    indices = (places(3, 7, below=20), places(7, 3, below=20).mT)
    return [(x, i, 20, pad, False) for x in every(3, 7, 6) for i in indices for pad in (-1, 0)]


@calls(gathers.PLACED)
def placed(name):
    rows, columns = places(9, below=20), places(9, below=6)
    chosen = [[rows], [None, columns], [rows, columns], [rows[:, None], torch.arange(6)]]
    tables = every(20, 6, shared="put" not in name)
    if "put" not in name:
        return [(x, index) for x in tables for index in chosen]
    added = () if name == "aten::_unsafe_index_put" else (False, True)
    return [
        (x, index, drawn(dtype=x.dtype), *([add] if added else []))
        for x in tables
        for index in chosen
        for add in added or (False,)
    ]


@calls(gathers.ALONG)
def along(name):
    found = []
    for x in every(20, 6, shared=not in_place(name)):
        for dim in (0, 1):
            by_index = "index_" in name
            index = places(x.shape[dim], below=6) if by_index else places(20, 6, below=6)
            found.append((x, dim, index) if name == "aten::gather" else (x, dim, index, like(x)))
    return found


@calls(gathers.SEEN)
def seen(_):
    return [(x,) for x in every(*SHAPE, dtypes=(BOOL, I64, F32))]


@calls("index_select")
def selected(_):
    index = torch.tensor([0, 2, 1, 1])
    plane = [(x, dim, index) for x in every(5, 6) for dim in (0, 1)]
    return [*plane, *((x, dim, index) for x in every(*SHAPE) for dim in (0, 1, 2, -1, -2))]


@calls([*optimizers.FUSED, *optimizers.LISTS, *optimizers.NUMBERS])
def stepped(name):
    a, b, c, d = ([drawn(5, 6).abs(), drawn(7).abs()] for _ in range(4))
    steps = [torch.tensor(1.0) for _ in a]
    adam = {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "weight_decay": 0.1, "eps": 1e-8}
    sgd = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": False}
    plain = {"maximize": False}
    grad = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.1, "eps": 1e-8, **plain}
    of_fused = {
        "_fused_adam_": ((a, b, c, d, [], steps), {**adam, **plain, "amsgrad": False}),
        "_fused_adamw_": ((a, b, c, d, [], steps), {**adam, **plain, "amsgrad": False}),
        "_fused_sgd_": ((a, b, c), {**sgd, **plain, "is_first_step": False}),
        "_fused_adagrad_": ((a, b, c, steps), grad),
        "_foreach_lerp_": ((a, b, 0.1), {}),
        "_foreach_addcmul_": ((a, b, c, 0.1), {}),
        "_foreach_addcdiv_": ((a, b, c, 0.1), {}),
    }
    short = name.split("::")[1]
    if short in of_fused:
        return [of_fused[short]]
    return [(a, y) for y in (2, 2.5, b, [2.5, 3.5])] if name in optimizers.NUMBERS else [(a,)]
