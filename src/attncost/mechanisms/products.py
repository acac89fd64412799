"""The price of one batched matrix product, which formulas of mechanisms add up.

    2 · outputs · inner FLOPs;  operands + outputs, each moved once, and what was made for it twice

It is the rule of `kernels.interface.Work` for bytes. Copies for padding are not seen here.
"""

from attncost.core.cost import Cost
from attncost.core.counts import Count


def product(
    outputs: Count, inner: Count, *, operands: Count, made: Count = 0, itemsize: Count
) -> Cost:
    """Return what a product costs that no mask thins out.

    Args:
        outputs: Elements of the result, in all heads and sequences.
        inner: Terms of the sum that each of them is.
        operands: Elements of both factors.
        made: Those of them that are no argument and no result of a product: written once before.
        itemsize: Bytes of an element.

    >>> product(6, 4, operands=20, itemsize=4).bytes
    104
    """
    flops = 2 * outputs * inner
    moved = (operands + made + outputs) * itemsize
    return Cost(useful=flops, executed=flops, dense=flops, bytes=moved)
