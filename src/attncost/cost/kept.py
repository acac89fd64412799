"""What a forward pass keeps for the backward pass, in closed form: the activations.

    a layer of attention:  n d_model + 2 n (h + g) d_h + n h      n² h in place of n h, unfused
    an encoder block:      4 n d_model + 4 n + 2 n (h + g) d_h + n h + 2 n f

A projection keeps its input once, attention its queries, keys, values, output and the log-sum-exp
of each row, or all n² weights of each head where no fused kernel computes it; norms keep what they
read and two numbers a token, the feed-forward what its activation reads and returns. Counted in
elements of float32, for one sequence. Left out are the mask that dropout keeps, the n x n mask of a
pattern that PyTorch's kernel takes, and the second copy of its output that our folded kernel keeps.
"""

from attncost.core.counts import Count
from attncost.cost.block import BlockSizes
from attncost.cost.model.layer import Layer


def kept_elements(block: BlockSizes, *, length: Count, keeps_weights: bool = False) -> Count:
    """Return what a layer keeps, or a block of `TransformerBlock`, which has no gate.

    Args:
        block: The sizes.
        length: Tokens.
        keeps_weights: Whether all n x n weights are in memory, as in naive attention.

    >>> kept_elements(BlockSizes(d_model=512, heads=8), length=2048)
    5259264
    """
    n, mixer, feed = length, block.mixer(), block.feed()
    layer = Layer(d_model=block.d_model, mixers=(mixer,), feed=feed, norms=2, norm_numbers=2)
    inside = layer.inside(n, keeps_weights=keeps_weights)
    if feed is None:
        return n * block.d_model + inside
    return layer.between(n) + layer.upcast(n) + inside
