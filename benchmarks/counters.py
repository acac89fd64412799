"""The peers of `benchmarks.counting`: others that count FLOPs, each asked as its users ask it.

Each returns FLOPs of 2 per multiply-add, so what those say that count multiply-adds is doubled; of
those that also count norms or additions by name, products alone are taken. One that has no word for
the backward pass says what it says of the forward pass.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import distributions
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

# Where `make bench` puts peers that cannot live with the others; `peers-beside.txt` says why.
BESIDE: Final = Path(sys.prefix, "beside")
_PRODUCTS: Final = ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm")

Inputs: TypeAlias = tuple[Tensor, ...]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """Somebody else who counts.

    Attributes:
        package: What is imported, "" if PyTorch brings it.
        project: What it is installed as.
        count: Returns the FLOPs of one call, backward too if told so; None if it finds none.
        beside: Whether it is in a folder of its own.
    """

    package: str
    project: str
    count: Callable[[nn.Module, Inputs, bool], float | None]
    beside: bool = False

    def there(self) -> bool:
        """Say whether it can be asked here."""
        if self.beside:
            return (BESIDE / self.package).is_dir()
        return not self.package or find_spec(self.package) is not None

    def version(self) -> str:
        """Return which one it is."""
        where = [str(BESIDE)] if self.beside else sys.path
        return next(iter(distributions(name=self.project, path=where))).version

    def ask(self, module: nn.Module, inputs: Inputs, *, backward: bool) -> float | None:
        """Return what it says."""
        if self.beside:
            sys.path.insert(0, str(BESIDE))
        return self.count(module, inputs, backward)


def _run(module: nn.Module, inputs: Inputs, backward: bool) -> None:
    out = module(*inputs)
    if backward:
        out.sum().backward()


def _torch(module: nn.Module, inputs: Inputs, backward: bool) -> float:
    with FlopCounterMode(display=False) as counter:
        _run(module, inputs, backward)
    return float(counter.get_total_flops())


def _profiler(module: nn.Module, inputs: Inputs, backward: bool) -> float:
    with profile(activities=[ProfilerActivity.CPU], with_flops=True, record_shapes=True) as seen:
        _run(module, inputs, backward)
    events: Any = seen.key_averages()
    priced = [one for one in events if one.key in _PRODUCTS or "attention" in one.key]
    return float(sum(one.flops or 0 for one in priced))


def _fvcore(module: nn.Module, inputs: Inputs, _: bool) -> float:
    found: dict[str, float] = (
        import_module("fvcore.nn").FlopCountAnalysis(module, inputs).by_operator()
    )
    return 2 * sum(macs for name, macs in found.items() if "norm" not in name)


def _thop(module: nn.Module, inputs: Inputs, _: bool) -> float:
    return 2 * float(import_module("thop").profile(module, inputs=inputs, verbose=False)[0])


def _ptflops(module: nn.Module, inputs: Inputs, backend: str) -> float | None:
    named = dict(zip(signature(module.forward).parameters, inputs, strict=False))
    macs = import_module("ptflops").get_model_complexity_info(
        module,
        (1,),
        input_constructor=lambda _: named,
        as_strings=False,
        print_per_layer_stat=False,
        backend=backend,
    )[0]
    return None if macs is None else 2 * float(macs)


def _calflops(module: nn.Module, inputs: Inputs, backward: bool) -> float:
    found = import_module("calflops").calculate_flops(
        model=module,
        args=list(inputs),
        print_results=False,
        output_as_string=False,
        include_backPropagation=backward,
    )
    return float(found[0])


def _deepspeed(module: nn.Module, inputs: Inputs, _: bool) -> float:
    profiler = import_module("deepspeed.profiling.flops_profiler").FlopsProfiler(module)
    profiler.start_profile()
    module(*inputs)
    return 2 * float(profiler.get_total_macs())


def _torchinfo(module: nn.Module, inputs: Inputs, _: bool) -> float:
    found = import_module("torchinfo").summary(
        module,
        input_data=list(inputs),
        verbose=0,
        device=inputs[0].device.type,
        mode="train" if module.training else "eval",
    )
    return 2 * float(found.total_mult_adds)


def _flopth(module: nn.Module, inputs: Inputs, _: bool) -> float:
    # It imports torchvision for the names of its models, and none of them is asked for here.
    vision = ModuleType("torchvision")
    vision.models = ModuleType("torchvision.models")  # type: ignore[attr-defined]
    sys.modules.update({"torchvision": vision, "torchvision.models": vision.models})
    return 2 * float(import_module("flopth").flopth(module, inputs=inputs, bare_number=True)[0])


def _torch_flops(module: nn.Module, inputs: Inputs, _: bool) -> float:
    with torch.no_grad():
        counter = import_module("torch_flops").TorchFLOPsByFX(module)
        counter.propagate(*inputs)
        return float(counter.print_total_flops(show=False))


def _torchlens(module: nn.Module, inputs: Inputs, _: bool) -> float:
    traced = import_module("torchlens").trace(module, inputs if len(inputs) > 1 else inputs[0])
    return float(traced.total_flops_forward)


PEERS: Final[dict[str, Peer]] = {
    "torch": Peer(package="", project="torch", count=_torch),
    "profiler": Peer(package="", project="torch", count=_profiler),
    "fvcore": Peer(package="fvcore", project="fvcore", count=_fvcore),
    "thop": Peer(package="thop", project="thop", count=_thop, beside=True),
    "ul-thop": Peer(package="thop", project="ultralytics-thop", count=_thop),
    "ptflops": Peer(
        package="ptflops", project="ptflops", count=lambda m, x, _: _ptflops(m, x, "pytorch")
    ),
    "pt-aten": Peer(
        package="ptflops", project="ptflops", count=lambda m, x, _: _ptflops(m, x, "aten")
    ),
    "calflops": Peer(package="calflops", project="calflops", count=_calflops),
    "deepspeed": Peer(package="deepspeed", project="deepspeed", count=_deepspeed),
    "torchinfo": Peer(package="torchinfo", project="torchinfo", count=_torchinfo),
    "flopth": Peer(package="flopth", project="flopth", count=_flopth, beside=True),
    "torchflops": Peer(package="torch_flops", project="torch-flops", count=_torch_flops),
    "torchlens": Peer(package="torchlens", project="torchlens", count=_torchlens),
}
