"""PyTorch: how it was built, and what is switched on in this process."""

import re
from typing import Any, Final

import torch

# Where `torch.__config__` says what it was built with and runs on.
_SAID: Final = {
    "parallel": r"ATen parallel backend: (.+)",
    "mkl": r"Math Kernel Library Version (\S+)",
    "onednn": r"MKL-DNN (v\S+)",
    "openmp": r"OpenMP (\d+)",
    "blas": r"BLAS_INFO=(\w+)",
}
_BACKENDS: Final = ("flash", "mem_efficient", "math", "cudnn")


def build() -> dict[str, Any]:
    """Return the build of PyTorch."""
    said = f"{torch.__config__.parallel_info()}\n{torch.__config__.show()}"
    found = {name: re.search(pattern, said) for name, pattern in _SAID.items()}
    return {
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "torch_debug": bool(torch.version.debug),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        **{name: match.group(1).strip() if match else None for name, match in found.items()},
    }


def switches() -> dict[str, Any]:
    """Return what is switched on, and can be switched off."""
    cuda = torch.backends.cuda
    return {
        "interop_threads": torch.get_num_interop_threads(),
        "fast_path": torch.backends.mha.get_fastpath_enabled(),
        "sdpa_backends": [n for n in _BACKENDS if getattr(cuda, f"{n}_sdp_enabled")()],
        "matmul_precision": torch.get_float32_matmul_precision(),
        "onednn_enabled": torch.backends.mkldnn.enabled,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }
