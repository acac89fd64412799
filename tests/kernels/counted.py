"""What PyTorch is seen to compute and to move while a call runs, whatever our formulas say."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

# torch 2.13 knows no formula for its own CPU kernel and counts it as nothing
CPU_KERNEL = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
PRODUCTS = {torch.ops.aten.mm, torch.ops.aten.bmm, CPU_KERNEL}


def flops(call):
    def count(q, k, v, *_, **__):
        # With the heads of q, for torch 2.11 refuses to count fewer heads of keys
        return sdpa_flop_count(q, (*q[:2], *k[2:]), (*q[:2], *v[2:]))

    with FlopCounterMode(display=False, custom_mapping={CPU_KERNEL: count}) as counter:
        call()
    return counter.get_total_flops()


def moved(call, arguments):
    """Return the bytes of operands and results of all products, as `Work` says they count."""
    with Traffic(arguments) as traffic, torch.no_grad():
        call()
    assert traffic.products, "something must have been multiplied"
    return traffic.bytes


class Traffic(TorchDispatchMode):
    def __init__(self, arguments):
        super().__init__()
        # Kept alive, so that nothing made later can stand at their address.
        self.known, self.bytes, self.products = list(arguments), 0, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if function.overloadpacket in PRODUCTS:
            result = made[0] if isinstance(made, tuple) else made
            operands = [x for x in (*args, *(kwargs or {}).values()) if torch.is_tensor(x)]
            known = {x.untyped_storage().data_ptr() for x in self.known}
            for x in operands:
                storage = x.untyped_storage()
                fresh = storage.data_ptr() not in known
                self.bytes += own_bytes(x) + fresh * storage.nbytes()
                known.add(storage.data_ptr())
                self.known.append(x)
            self.bytes += own_bytes(result)
            self.known.append(result)
            self.products += 1
        return made


def own_bytes(x):
    """Return the bytes of a tensor, what is expanded counted once."""
    steps = zip(x.shape, x.stride(), strict=True)
    return x.element_size() * math.prod(size for size, stride in steps if stride)
