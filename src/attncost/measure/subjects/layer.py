"""The layer that the articles time, as subjects: naive or any attention that is found.

    8 n d_model² FLOPs in four projections + what the kernel executes between queries and keys

All layers of one call share their weights, so they compute the same function wherever their
attention does. No dropout and no mask of padding. A token more than a cache holds is projected,
joins the keys and values, and reads them; that is timed, and so is taking it back. A window's cache
makes room for it once and not again, so what it copies now and then is left out. A mechanism that
streams reads its state in place of keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import torch
from torch import Tensor

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.attends import (
    AUTO,
    NAIVE,
    Exact,
    changing,
    core,
    in_kernels,
)
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.core import Core
from attncost.measure.subjects.lengths import usual_lengths
from attncost.measure.subjects.modes import Decode, Forward, Timed, Training, place
from attncost.measure.subjects.projections import WAYS, SelfAttention, Weights, uniform, weights_of
from attncost.measure.subjects.subject import Subject
from attncost.mechanisms.spelling import runnable

QKV: Final = tuple(WAYS)


def layer_subjects(
    *,
    d_model: int,
    heads: int,
    attentions: Sequence[str] | None = None,
    qkv: Sequence[str] = QKV,
    kernels: Sequence[str] = (AUTO,),
) -> tuple[Subject, ...]:
    """Return a layer for every attention, every way to project and every kernel that can run it.

    The label `kernel` of a pattern without a kernel of its own says which ones run it, and from
    which length: one sequence in inference, in float32 on a CPU. `naive` and mechanisms have one
    way to run, whatever kernels are asked for.

    Args:
        d_model: Features of a token.
        heads: Heads that share them evenly.
        attentions: `naive` (the articles' three operations) or a spelled pattern or mechanism,
            such as `window:width=128`; `naive` and everything that is found, if left out.
        qkv: `separate`, `fused`.
        kernels: `auto`, or names of kernels, such as `sdpa`, `folded`, `reference`; what one of
            them refuses on every device that is here is left out.

    Raises:
        ShapeError: If the heads do not divide the features.
        UnknownName: If there is no such attention, way to project or kernel.
        UnsupportedOption: If no attention can run in one of the kernels, or one is a formula.
    """
    if heads < 1 or d_model < 1 or d_model % heads:
        raise ShapeError(f"heads must divide d_model, got {heads} heads for {d_model} features.")
    for way in qkv:
        if way not in WAYS:
            raise UnknownName("way to project q, k and v", way, WAYS)
    names = (NAIVE, *runnable()) if attentions is None else attentions
    layer = _Layer(d_model, heads, weights_of(d_model))
    found = _variants(layer, {name: core(name) for name in names}, tuple(kernels))
    return tuple(_subject(layer, name, way, one) for name, one in found for way in qkv)


@final
@dataclass(frozen=True, slots=True)
class _Layer:
    """What all subjects share."""

    d_model: int
    heads: int
    weights: Weights

    def dims(self, case: Case) -> Dims:
        """Return the sizes of attention in a case, of `decode` before the token comes."""
        return Dims(
            batch=case.batch,
            heads=self.heads,
            length=case.length,
            head_dim=self.d_model // self.heads,
            itemsize=case.torch_dtype.itemsize,
        )

    def formula(self, case: Case) -> Predicted:
        """Return what a layer of full attention costs, forward."""
        n, d = case.length, self.d_model
        return Predicted(linear=8 * case.batch * n * d**2, core=4 * case.batch * n**2 * d)


def _variants(
    layer: _Layer, cores: dict[str, Core], kernels: tuple[str, ...]
) -> list[tuple[str, Core]]:
    """Return every attention in every kernel that can run it."""
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    cases = [Case(length=64, device=device) for device in devices]
    found: list[tuple[str, Core]] = []
    refused: dict[str, str] = {}
    for name, one in cores.items():
        asked = [in_kernels(one, kernels, dims=layer.dims(case), case=case) for case in cases]
        for kernel in asked[0]:
            ways = [answers[kernel] for answers in asked]
            able = next((way for way in ways if isinstance(way, Core)), None)
            if able is None:
                refused[kernel] = str(ways[0])
            else:
                found.append((name, able))
    for kernel, reason in refused.items():
        if not any(one.kernel == kernel for _, one in found):
            raise UnsupportedOption(f"kernel {kernel!r} cannot run any of them here: {reason}")
    return found


def _subject(layer: _Layer, name: str, way: str, one: Core) -> Subject:
    own = isinstance(one, Exact) and one.wanted != AUTO
    return Subject(
        name=f"{name}, {way} qkv" + (f", {one.kernel} kernel" if own else ""),
        labels={"attention": name, "qkv": way, "kernel": _kernel(layer, one)},
        prepare=partial(_prepared, layer, way, one),
        predict=partial(_predicted, layer, one),
    )


def _kernel(layer: _Layer, one: Core) -> str:
    if not isinstance(one, Exact) or one.wanted != AUTO:
        return one.kernel
    lengths = usual_lengths(lambda n: layer.formula(Case(length=n))).tokens
    cases = [Case(length=n) for n in lengths]
    return changing({case.length: one.runs(layer.dims(case), case) for case in cases})


def _prepared(layer: _Layer, way: str, one: Core, case: Case) -> Timed:
    """Make the layer and its input, where the call is to be made."""
    where, dtype = place(case), case.torch_dtype
    with torch.inference_mode(False), torch.device("cpu"):
        draw = partial(uniform, dtype=dtype, device=where)
        project, output = layer.weights(way, dtype, where)
        more = case.mode == "decode"
        attend = one.attend(layer.dims(case), draw)
        module = SelfAttention(project, output, layer.heads, attend)
        module.train(case.mode == "training")
        shape = (case.batch, case.length + more, layer.d_model)
        x = draw(shape, torch.Generator().manual_seed(1))
        if more:
            return Decode(partial(_filled, module, x, one), ready=where.type != "meta")
        if case.mode == "training":
            return Training(module, x.requires_grad_())
        return Forward(module, x)


def _filled(module: SelfAttention, x: Tensor, one: Core) -> Callable[[], Tensor]:
    """Remember all tokens but the last, and return the step that reads that one."""
    attend = one.after(module.attend, module.projected(x[:, :-1]))
    return partial(module, x[:, -1:], attend)


def _predicted(layer: _Layer, one: Core, case: Case) -> Predicted:
    executed, moved = one.cost(layer.dims(case), case)
    passes, tokens = (
        3 if case.mode == "training" else 1,
        1 if case.mode == "decode" else case.length,
    )
    linear = 8 * passes * case.batch * tokens * layer.d_model**2
    return Predicted(linear=linear, core=executed, bytes=moved)
