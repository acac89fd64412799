"""What PyTorch leaves to oneDNN on a CPU: 16-bit types on some CPUs alone.

On x86 oneDNN takes bfloat16 from AVX-512 on and float16 with AVX512-FP16; what it does not take,
PyTorch computes by other means. It multiplies matrices from 4,097 multiply-adds on, and those of
32 bits where `torch.backends.mkldnn.matmul.fp32_precision` lets it round them. What it holds
meanwhile is known to it alone and depends on instructions and caches: (4096, 64) times (64, 4096)
in bfloat16 takes 73 KiB with AVX512-BF16, 64 MiB with other AVX-512 and nothing without.
"""

from functools import cache
from typing import Final

import torch

from attncost.cost.memory.scratch.copies import HALF

_FEWEST: Final = 16**3


def takes(dtype: torch.dtype) -> bool:
    """Say whether oneDNN computes with numbers of a dtype on this machine."""
    return torch._C._get_mkldnn_enabled() and _can(dtype)


def multiplies(dtype: torch.dtype, multiply_adds: int) -> bool:
    """Say whether oneDNN makes products of matrices of a dtype, with so much to do."""
    if multiply_adds <= _FEWEST:
        return False
    if dtype == torch.float32:
        rounds = torch._C._get_fp32_precision_getter("mkldnn", "matmul") in ("bf16", "tf32")
        return rounds and takes(torch.bfloat16)
    return dtype in HALF and takes(dtype)


@cache
def packs(dtype: torch.dtype) -> bool:
    """Say whether fused attention may bring its keys and values into an order for AMX first."""
    names = {torch.bfloat16: "amx_bf16", torch.float16: "amx_fp16"}
    return dtype in names and bool(torch.cpu.get_capabilities().get(names[dtype], False))


@cache
def _can(dtype: torch.dtype) -> bool:
    if not torch.backends.mkldnn.is_available():
        return False
    ask = {
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported,
        torch.float16: torch.ops.mkldnn._is_mkldnn_fp16_supported,
    }
    return bool(ask[dtype]()) if dtype in ask else dtype == torch.float32
