"""What a model's calls of attention were, by the host for functions of PyTorch."""

from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from attncost.view.capture.hosts.functions import Functions

B, H, N, M, D = 2, 4, 5, 8, 6
KEYS = torch.tensor([[True] * 6 + [False] * 2, [False] * 3 + [True] * 5])
CLOSE = {"atol": 1e-6, "rtol": 1e-5}


@contextmanager
def watched(model, *names):
    """Collect the calls of modules, of all that the host finds if none is named."""
    host, calls = Functions(), []
    modules = dict(model.named_modules())
    chosen = {name: modules[name] for name in names} if names else host.layers(model)
    with host.watch(model, chosen, calls.append):
        yield calls


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def shaken(module, seed=1):
    """Give every parameter numbers of its own, biases too."""
    torch.manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


def softmax_of(seen):
    """Weights of a call by the definition, in float64, of whatever its pattern and wishes say."""
    q, k = seen.q.double(), seen.k.double()
    (b, h, n, d), m = q.shape, k.shape[2]
    k = k.repeat_interleave(h // k.shape[1], 1)
    scale = seen.wishes.get("scale")
    scores = q @ k.mT * (d**-0.5 if scale is None else scale)
    if (bias := seen.wishes.get("bias")) is not None:
        scores = scores + bias
    reads = seen.pattern.mask(n, m)[None, None].expand(b, h, n, m)
    if (key_mask := seen.wishes.get("key_mask")) is not None:
        reads = reads & key_mask[:, None, None]
    weights = scores.masked_fill(~reads, -torch.inf).softmax(-1)
    return weights.nan_to_num(0.0)


class Named(TorchDispatchMode):
    """Notes which operations run; unlike a mode of functions, it leaves the fast path on."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.found.append(func.name().split(".")[0])
        return func(*args, **(kwargs or {}))


class Projects(nn.Module):
    """Calls PyTorch's multi-head function with another module's weights, as CLIP's pool does."""

    def __init__(self):
        super().__init__()
        self.of = nn.MultiheadAttention(16, H)

    def forward(self, x, **asked):
        of = self.of
        return functional.multi_head_attention_forward(
            x[:1], x, x, 16, H, of.in_proj_weight, of.in_proj_bias, None, None, False, 0.0,
            of.out_proj.weight, of.out_proj.bias, **asked,
        )  # fmt: skip


class Causal(nn.Module):
    """The attention of small GPTs."""

    def __init__(self, e=16):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(e, 3 * e), nn.Linear(e, e)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (H, -1)).transpose(1, 2) for y in self.c_attn(x).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.mlp = Causal(), nn.Sequential(nn.Linear(16, 16), nn.GELU())

    def forward(self, x):
        x = x + self.attn(x)
        return x + self.mlp(x)


def gpt(blocks=3):
    return shaken(nn.Sequential(*[Block() for _ in range(blocks)]))


def qkv(lead=(B, H), n=N, m=M, kv=None):
    kv = lead if kv is None else kv
    return drawn(*lead, n, D), drawn(*kv, m, D, seed=1), drawn(*kv, m, D, seed=2)
