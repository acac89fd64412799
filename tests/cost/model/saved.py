"""What autograd keeps for a backward pass, and what PyTorch counts."""

from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode


def saved(function, inputs, learned):
    """Return how many numbers all storages hold that are kept, inputs and parameters left out."""
    given = {one.untyped_storage().data_ptr() for one in (*inputs, *learned)}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if tensor.is_floating_point() and storage.data_ptr() not in given:
            kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        # The tensor goes back as it is, so that no storage is freed and its address reused.
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = function(*inputs)
    assert result.requires_grad
    return sum(kept.values())


def flops(function, *inputs):
    """Return what PyTorch's counter counts."""
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    return counter.get_total_flops()
