"""Whatever a check switches is switched back, also after an exception."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

# What `torch.set_float32_matmul_precision` switches on a CPU, and on a GPU.
PRODUCTS: Final[Any] = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]  # no stub
_PRECISIONS: Final = (torch.backends.cuda.matmul, PRODUCTS)


@contextmanager
def unchanged() -> Iterator[None]:
    """Put back threads, fast path, precision, gradients and random numbers at the end."""
    threads, fast = torch.get_num_threads(), torch.backends.mha.get_fastpath_enabled()
    gradients, numbers = torch.is_grad_enabled(), torch.get_rng_state()
    precisions = [one.fp32_precision for one in _PRECISIONS]
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.backends.mha.set_fastpath_enabled(fast)
        torch.set_grad_enabled(gradients)
        torch.set_rng_state(numbers)
        for one, precision in zip(_PRECISIONS, precisions, strict=True):
            one.fp32_precision = precision
