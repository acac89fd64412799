"""What keeps the times of two runs from being compared: facts of their environments that differ.

Compared is what changes the time of the same call on the same machine, or tells machines apart.
When, by which command and beside which load a run was taken does not count, nor what one of both
does not say: an older run is silent on much, and some systems tell little.
"""

from collections.abc import Mapping
from typing import Any, Final

# Each fact of an environment that times depend on, and its name in a sentence.
COMPARED: Final[Mapping[str, str]] = {
    "processor": "the processor",
    "cpu_flags": "the processor's instructions",
    "cores": "the number of cores",
    "physical_cores": "the number of physical cores",
    "usable_cores": "the number of cores that the process may use",
    "cpu_quota": "the cores that its control group grants",
    "governor": "the governor of the clock rate",
    "turbo": "turbo",
    "device": "the device",
    "gpu_driver": "the GPU's driver",
    "gpu_capability": "the GPU's compute capability",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "clock": "the clock",
    "threads": "the number of threads",
    "interop_threads": "the number of inter-op threads",
    "torch": "PyTorch",
    "torch_git": "PyTorch's revision",
    "torch_debug": "PyTorch's debug build",
    "cpu_capability": "the instructions that PyTorch uses",
    "parallel": "what runs PyTorch's threads",
    "blas": "the BLAS",
    "mkl": "MKL",
    "onednn": "oneDNN",
    "onednn_enabled": "use of oneDNN",
    "openmp": "OpenMP",
    "allocator": "the allocator",
    "huge_pages": "transparent huge pages",
    "settings": "variables that set up the process",
    "fast_path": "the fast path of multi-head attention",
    "sdpa_backends": "the backends of scaled_dot_product_attention",
    "matmul_precision": "the precision of float32 products",
    "deterministic": "deterministic algorithms",
    "python": "Python",
    "numpy": "NumPy",
    "transformers": "transformers",
    "attncost": "attncost",
    "platform": "the operating system",
}
# Cores of others that a reader need not know of.
_SLIGHT: Final = 0.5
_NOTHING: Final[tuple[object, ...]] = ("", [], {}, ())


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each fact that differs and that times depend on.

    >>> differences({"torch": "2.13.0", "load": 0.1}, {"torch": "2.11.0", "load": 7.9})
    ('PyTorch: 2.13.0 and 2.11.0.',)
    """
    return tuple(
        f"{said}: {_shown(first[name])} and {_shown(second[name])}."
        for name, said in COMPARED.items()
        if first.get(name) is not None
        and second.get(name) is not None
        and first[name] != second[name]
    )


def cautions(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a reader of the times should know of where they were taken.

    >>> cautions({"load": 3.5, "usable_cores": 2, "threads": 1})
    ('The load was 3.5 when it began, on 2 cores of which it took 1: others used the machine.',)
    """
    load, cores = environment.get("load"), environment.get("usable_cores")
    threads = environment.get("threads") or 1
    said = []
    if load is not None and cores is not None and load > max(threads + _SLIGHT, cores - threads):
        said.append(
            f"The load was {load:.1f} when it began, on {cores} cores of which it took {threads}: "
            "others used the machine."
        )
    if environment.get("torch_debug"):
        said.append("PyTorch is a debug build, which is slower.")
    return tuple(said)


def _shown(value: Any) -> str:  # noqa: ANN401 -- whatever JSON has
    if value in _NOTHING:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
