"""What steps of optimizers hold: all of it in place, but for the plain numbers.

The unfused steps are elementwise operations, one parameter or one list of them at a time. A list is
worked off one by one, so the most that one of its tensors takes is what it takes.
"""

from typing import Final

from torch import Tensor

from attncost.cost.counting.formulas.names import aten
from attncost.cost.memory.registry import nothing, scratch
from attncost.cost.memory.scratch.copies import Argument
from attncost.cost.memory.scratch.elementwise import binary

FUSED: Final = aten("_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_")
# In place, and numbers stay numbers.
LISTS: Final = aten("""
    _foreach_sqrt _foreach_sqrt_ _foreach_lerp_ _foreach_addcmul_ _foreach_addcdiv_ _foreach_neg_
""")
NUMBERS: Final = aten("_foreach_add_ _foreach_sub_ _foreach_mul_ _foreach_div_")

scratch(*FUSED, *LISTS)(nothing)


@scratch(*NUMBERS)
def one_by_one(tensors: list[Tensor], others: Argument, *_: Argument, **__: Argument) -> int:
    """Return the bytes of the numbers of that tensor of the list that takes the most."""
    each = others if isinstance(others, list | tuple) else [others] * len(tensors)
    pairs = zip(tensors, each, strict=True)
    return max((binary(x, y, out=x) for x, y in pairs), default=0)
