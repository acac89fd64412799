"""The 32 cases of `benchmarks.counting`, and what each costs by hand.

FLOPs are 2 for every multiply-add of a product of matrices; biases, softmax, norms and scales are
none. `dense` is without any mask, `useful` with the pairs alone that a mask lets through. A mask
that is added to scores that were multiplied is no mask of the product, so where attention is
written by hand both are the same.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, cast, final

import torch
from benchmarks.counting_modules import (
    FEATURES,
    HEADS,
    TEXT,
    VOCABULARY,
    Attend,
    Flexible,
    Fused,
    Jagged,
    MultiHead,
    MultiheadOfTorch,
    SingleHead,
    Windowed,
    bert,
    by_baddbmm,
    by_bmm,
    by_causal_sdpa,
    by_einsum,
    by_matmul,
    by_operator,
    by_sdpa,
    gpt2,
    llama,
)
from torch import Tensor, nn

Mode = Literal["eval", "no_grad", "train", "backward"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A module, what it is called with, and the FLOPs of that call.

    Attributes:
        build: Makes the module.
        inputs: Makes its arguments.
        useful: FLOPs of the pairs that are read.
        dense: FLOPs without any mask.
        mode: For evaluation with or without autograd, in training mode, or that and backward too.
        compiled: Whether torch.compile has been asked for.
        bounded: Whether a mask is put on scores multiplied by hand: `useful` is then what is
            multiplied, and an upper bound of what is read.
        needs: A package without which it cannot be built; "" if there is none.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]
    useful: int
    dense: int
    mode: Mode = "eval"
    compiled: bool = False
    bounded: bool = False
    needs: str = ""

    @property
    def backward(self) -> bool:
        """Whether the gradients are part of the cost, that of the input too."""
        return self.mode == "backward"

    def make(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """Return the module in its mode and its arguments, the same ones every time."""
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            module, inputs = self.build(), self.inputs()
        module.train(self.mode in ("train", "backward"))
        if self.backward:
            inputs = tuple(x.requires_grad_() for x in inputs)
        return module, inputs

    def ready(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """Return the same after compiled code has run once, as it has for whoever counts it."""
        module, inputs = self.make()
        if self.compiled:
            with self.grad():
                module(*inputs)
        return module, inputs

    def grad(self) -> AbstractContextManager[None]:
        """Return what the module is called under: autograd as the mode asks."""
        return torch.no_grad() if self.mode == "no_grad" else nullcontext()


def _case(
    build: Callable[[], nn.Module],
    inputs: Callable[[], tuple[Tensor, ...]],
    useful: int,
    dense: int | None = None,
    *,
    mode: Mode = "eval",
) -> Case:
    return Case(
        build=build,
        inputs=inputs,
        useful=useful,
        dense=useful if dense is None else dense,
        mode=mode,
    )


def _random(*shapes: tuple[int, ...]) -> Callable[[], tuple[Tensor, ...]]:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def _heads(length: int) -> tuple[int, ...]:
    return 1, HEADS, length, 64


def _tokens() -> tuple[Tensor, ...]:
    return (torch.randint(VOCABULARY, (1, TEXT)),)


def _model(build: Callable[[str], nn.Module], attention: str, useful: int, dense: int) -> Case:
    case = _case(partial(build, attention), _tokens, useful, dense)
    return replace(case, needs="transformers")


def _encoder_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(FEATURES, HEADS, 2048, dropout=0.0, batch_first=True)


def _compiled(attend: Attend) -> Case:
    def build() -> nn.Module:
        return cast("nn.Module", torch.compile(MultiHead(attend)))

    return replace(_case(build, _PLAIN, _WHOLE), compiled=True)


def _on_meta(attend: Attend) -> Case:
    return _case(
        lambda: MultiHead(attend).to("meta"),
        lambda: (torch.empty(1, 512, FEATURES, device="meta"),),
        _WHOLE,
    )


# Multi-head attention of 512 tokens, 512 features: 4 projections of 2 * 512 * 512 * 512, then
# 4 * 512 for each of 512 * 512 pairs; causal reads 512 * 513 / 2 = 131,328 of them.
_WHOLE: Final = 1_073_741_824 + 536_870_912
_CAUSAL: Final = 1_073_741_824 + 268_959_744
# An encoder layer has 2 * 2 * 512 * 512 * 2048 besides.
_ENCODER: Final = _WHOLE + 2_147_483_648
# 8 heads of 64 features at 1,024 tokens: 4 * 8 * 64 for each pair. A causal window of 128 reads
# 128 * 129 / 2 + 896 * 128 = 122,944 pairs of 1,024 * 1,024.
_WINDOW: Final = 251_789_312
_WINDOW_DENSE: Final = 2_147_483_648
# Of 128 tokens and 128 features, a layer of BERT or GPT-2 has 4 projections of 2 * 128 * 128 * 128,
# 4 * 128 for each of 128 * 128 pairs, and 2 * 2 * 128 * 128 * 512; there are 2 layers.
_TEXT: Final = 2 * (16_777_216 + 8_388_608 + 33_554_432)
# BERT has a pooler over one token, 2 * 128 * 128.
_BERT: Final = _TEXT + 32_768
# Llama projects keys and values to 64 features, and has 3 * 2 * 128 * 128 * 352.
_LLAMA: Final = 2 * (12_582_912 + 8_388_608 + 34_603_008)
# Causal leaves out 128 * 127 / 2 = 8,128 pairs in each of 2 layers.
_AHEAD: Final = 2 * 4_161_536

_PLAIN: Final = _random((1, 512, FEATURES))
_NEAR: Final = _random(*[_heads(1024)] * 3)

CASES: Final[dict[str, Case]] = {
    # 3 projections of 2 * 5 * 64 * 64, and 4 * 64 for each of 5 * 5 pairs.
    "single n5 d64 (@)": _case(partial(SingleHead, 64), _random((5, 64)), 129_280),
    "MHA matmul": _case(partial(MultiHead, by_matmul), _PLAIN, _WHOLE),
    "MHA @": _case(partial(MultiHead, by_operator), _PLAIN, _WHOLE),
    "MHA bmm": _case(partial(MultiHead, by_bmm), _PLAIN, _WHOLE),
    "MHA baddbmm": _case(partial(MultiHead, by_baddbmm), _PLAIN, _WHOLE),
    "MHA einsum": _case(partial(MultiHead, by_einsum), _PLAIN, _WHOLE),
    "MHA sdpa": _case(partial(MultiHead, by_sdpa), _PLAIN, _WHOLE),
    "MHA sdpa causal": _case(partial(MultiHead, by_causal_sdpa), _PLAIN, _CAUSAL, _WHOLE),
    # 8 query heads of 64 features share 2 of keys: 4 * 8 * 64 for each of 256 * 256 pairs.
    "sdpa GQA 8q/2kv n256": _case(
        partial(Fused, enable_gqa=True),
        _random(_heads(256), (1, 2, 256, 64), (1, 2, 256, 64)),
        134_217_728,
    ),
    # 4 * 8 * 64 for each of 128 * 384 pairs.
    "sdpa cross 128x384": _case(Fused, _random(_heads(128), _heads(384), _heads(384)), 100_663_296),
    # 2 * 8 * (64 + 32) for each of 256 * 256 pairs.
    "sdpa dv!=dq (64/32)": _case(
        Fused, _random(_heads(256), _heads(256), (1, HEADS, 256, 32)), 100_663_296
    ),
    "nn.MHA train": _case(
        partial(MultiheadOfTorch, need_weights=True), _PLAIN, _WHOLE, mode="train"
    ),
    "nn.MHA train noW": _case(
        partial(MultiheadOfTorch, need_weights=False), _PLAIN, _WHOLE, mode="train"
    ),
    "nn.MHA eval fast": _case(
        partial(MultiheadOfTorch, need_weights=True), _PLAIN, _WHOLE, mode="no_grad"
    ),
    "EncLayer eval fast": _case(_encoder_layer, _PLAIN, _ENCODER, mode="no_grad"),
    "EncLayer train": _case(_encoder_layer, _PLAIN, _ENCODER, mode="train"),
    "window128 dense-mask": _case(partial(Windowed, 1024, 128), _NEAR, _WINDOW, _WINDOW_DENSE),
    "flex window128 eager": _case(
        partial(Flexible, 1024, 128, compiled=False), _NEAR, _WINDOW, _WINDOW_DENSE
    ),
    # It has no backward on a CPU.
    "flex window128 compiled": replace(
        _case(partial(Flexible, 1024, 128, compiled=True), _NEAR, _WINDOW, _WINDOW_DENSE),
        mode="no_grad",
        compiled=True,
    ),
    # 4 * 512 for each of 128**2 + 512**2 + 256**2 pairs; dense, for 3 * 512**2.
    "NJT sdpa 128/512/256": _case(
        partial(Jagged, 128, 512, 256), _random((896, FEATURES)), 704_643_072, 1_610_612_736
    ),
    "Bert eager": _model(bert, "eager", _BERT, _BERT),
    "Bert sdpa": _model(bert, "sdpa", _BERT, _BERT),
    "GPT2 eager": replace(_model(gpt2, "eager", _TEXT, _TEXT), bounded=True),
    "GPT2 sdpa": _model(gpt2, "sdpa", _TEXT - _AHEAD, _TEXT),
    "Llama GQA eager": replace(_model(llama, "eager", _LLAMA, _LLAMA), bounded=True),
    "Llama GQA sdpa": _model(llama, "sdpa", _LLAMA - _AHEAD, _LLAMA),
    "MHA sdpa compiled": _compiled(by_sdpa),
    "MHA matmul compiled": _compiled(by_matmul),
    "MHA sdpa meta": _on_meta(by_sdpa),
    "MHA matmul meta": _on_meta(by_matmul),
    # Backward is twice forward: a gradient of each of the two factors of every product.
    "fwd+bwd matmul": _case(partial(MultiHead, by_matmul), _PLAIN, 3 * _WHOLE, mode="backward"),
    "fwd+bwd sdpa": _case(partial(MultiHead, by_sdpa), _PLAIN, 3 * _WHOLE, mode="backward"),
}
