"""The most that a forward pass keeps in memory at once, beyond weights and input, by closed form.

    weights kept n x n:  2 n² h + 3 n d        fused kernel:  5 n d        a layer of attention

In an encoder block the residual adds 2 n d to both, and the feed-forward takes n (2 f + 3 d), while
naive attention still holds its n² h weights. Counted in elements, for one sequence in inference,
where a tensor is freed as soon as nothing needs it. Scratch of fused kernels is left out: on a CPU
PyTorch's is some 75 kB, whatever the length.
"""

from attncost.core.counts import Count, larger
from attncost.cost.block import BlockSizes


def peak_elements(block: BlockSizes, *, length: Count, keeps_weights: bool) -> Count:
    """Return the peak of a layer, or of an encoder block that has a feed-forward without a gate.

    Args:
        block: The sizes.
        length: Tokens.
        keeps_weights: Whether all n x n weights are in memory, as in naive attention.

    >>> peak_elements(BlockSizes(d_model=512, heads=8), length=2048, keeps_weights=True)
    70254592
    """
    n, feed = length, block.feed()
    attention = block.mixer().live(n, keeps_weights=keeps_weights)
    if feed is None:
        return attention
    weights = n**2 * block.heads if keeps_weights else 0
    return 2 * n * block.d_model + larger(attention, weights + feed.live(n))
