"""Variables that set up a process: threads, allocators and libraries read them at its start.

Names of folders stay here: of a path in a value only the file's name is kept, and your home is `~`
in a command.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_READ: Final = (
    "ATEN_",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "DNNL_",
    "GLIBC_TUNABLES",
    "GOMP_",
    "KMP_",
    "LD_PRELOAD",
    "MALLOC_",
    "MIMALLOC_",
    "MKL_",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_",
    "ONEDNN_",
    "PYTORCH_",
    "TCMALLOC_",
    "THP_MEM_ALLOC_ENABLE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCHDYNAMO_DISABLE",
)
_FOLDERS: Final = re.compile(r"(?<![\w.~-])[~.\w-]*/(?:[^\s:,;]*/)*")


def settings(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that change how a process computes, by name.

    How many threads it has is left out: the environment says what came of it.

    >>> settings({"MALLOC_ARENA_MAX": "1", "HOME": "/home/x", "OMP_NUM_THREADS": "1"})
    {'MALLOC_ARENA_MAX': '1'}
    >>> settings({"LD_PRELOAD": "/opt/lib/libjemalloc.so.2:/opt/lib/libx.so"})
    {'LD_PRELOAD': 'libjemalloc.so.2:libx.so'}
    """
    return {
        name: _FOLDERS.sub("", value)
        for name, value in sorted(variables.items())
        if name.startswith(_READ) and not name.endswith("_NUM_THREADS")
    }


def without_home(command: str) -> str:
    """Return a command of a shell that names your home as `~`, and means the same.

    >>> home = Path.home()
    >>> print(without_home(f"attncost measure {home}/models/mine"))
    attncost measure ~/models/mine
    >>> print(without_home(f"attncost measure '{home}/my model'"))
    attncost measure ~/'my model'
    """
    home = str(Path.home())
    if home == "/":
        return command
    return re.sub(rf"(^|\s)('?){re.escape(home)}/", r"\1~/\2", command)
