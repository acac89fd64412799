"""Layers of attention as people write them, for predictions of memory."""

from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class Naive(nn.Module):
    """Attention by three products, as an article writes it."""

    def __init__(self, d, h):
        super().__init__()
        self.heads = h
        self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (
            part(x).view(b, n, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v)
        )
        return self.out(self.mixed(q, k, v).transpose(1, 2).contiguous().view(b, n, d))

    def mixed(self, q, k, v):
        # No name for the scores, which would keep them while weights are multiplied.
        return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v


class Fused(Naive):
    """The same by PyTorch's fused attention."""

    def mixed(self, q, k, v):
        return scaled_dot_product_attention(q, k, v)
