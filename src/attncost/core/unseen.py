"""Whether the numbers of a tensor can be looked at: on a meta or fake tensor there are none."""

import torch
from torch import Tensor


def unseen(tensor: Tensor) -> str | None:
    """Return why the numbers of a tensor cannot be looked at, as words that follow its name.

    >>> unseen(torch.ones(3, device="meta"))
    'on the meta device'
    >>> unseen(torch.ones(3)) is None
    True
    """
    if type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return f"of class {type(tensor).__name__}"
    if tensor.is_meta:
        return "on the meta device"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "inside torch.func or vmap"
    if torch.compiler.is_compiling():
        return "in a graph that is compiled"
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        return "in a CUDA graph that is captured"
    return None
