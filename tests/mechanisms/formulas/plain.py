"""Every formula's mechanism written down plainly, so that PyTorch can count what it multiplies.

Keys and values have g heads, which h / g query heads share: rows of these stand one below another.
"""

import math

import torch
from torch.nn.functional import pad, scaled_dot_product_attention


def softmax(scores, d):
    """Weigh by scores of queries and keys of d features."""
    return (scores / math.sqrt(d)).softmax(-1)


def shared(x, g):
    """Put the queries of heads that share keys below one another: (b g, h / g · n, d)."""
    return x.reshape(x.shape[0] * g, -1, x.shape[-1])


def nystrom(one, q, k, v):
    b, h, n, d = q.shape
    g, c = k.shape[1], min(one.landmarks, n, k.shape[2])
    k, v = k.flatten(0, 1), v.flatten(0, 1)
    short_q, short_k = _means(q, c), _means(k, c)
    left = softmax(shared(q, g) @ short_k.mT, d).reshape(b * h, n, c)
    middle = softmax(shared(short_q, g) @ short_k.mT, d).reshape(b * h, c, c)
    right = softmax(shared(short_q, g) @ k.mT, d)
    inverse = middle.mT / (middle.sum(-1).amax() * middle.sum(-2).amax())
    eye = torch.eye(c, dtype=q.dtype)
    for _ in range(one.iterations):
        near = middle @ inverse
        inverse = 0.25 * inverse @ (13 * eye - near @ (15 * eye - near @ (7 * eye - near)))
    values = (right @ v).reshape(b * h, c, -1)
    return ((left @ inverse) @ values).reshape(b, h, n, -1)


def _means(x, c):
    """Return the means of c segments, as even as they can be."""
    return torch.stack([some.mean(-2) for some in x.tensor_split(c, -2)], -2)


def performer(one, q, k, v, directions):
    (b, h, n, _), g = q.shape, k.shape[1]
    asked, told = (_features(x, directions) for x in (q, k))
    asked, told, v = shared(asked, g), told.flatten(0, 1), v.flatten(0, 1)
    weights = asked @ told.sum(-2)[..., None]
    return (asked @ (told.mT @ v) / weights).reshape(b, h, n, -1)


def _features(x, directions):
    """Return the features of x / d^(1/4), so that scores are divided by √d."""
    scale = x.shape[-1] ** -0.25
    turned = (x.flatten(0, 2) @ directions).unflatten(0, x.shape[:3])
    return (scale * turned - (scale * x).square().sum(-1, keepdim=True) / 2).exp()


def reformer(one, q, k, v, directions):
    """Take what it calls `q` for its keys, too; heads of values are shared."""
    b, h, n, d = q.shape
    chunks, rounds, size = -(-n // one.chunk), one.rounds, one.chunk
    v = v.repeat_interleave(h // v.shape[1], 1)
    turned = (q.reshape(-1, d) @ directions).reshape(b, h, n, rounds, chunks).movedim(3, 2)
    order = torch.cat((turned, -turned), -1).argmax(-1).argsort(-1)
    keys = q / q.norm(dim=-1, keepdim=True)
    q, keys, values = (
        _sorted(x, order, chunks * size).unflatten(3, (chunks, size)) for x in (q, keys, v)
    )
    keys, values = (torch.cat((x, x.roll(1, 3)), 4) for x in (keys, values))
    there = _sorted(torch.ones(b, h, n, 1), order, chunks * size).unflatten(3, (chunks, size))
    there = torch.cat((there, there.roll(1, 3)), 4).mT > 0
    scores = (q @ keys.mT).masked_fill(~there, -math.inf)
    out = (softmax(scores, d) @ values).flatten(3, 4)[..., :n, :]
    heavy = (scores / math.sqrt(d)).logsumexp(-1).flatten(3)[..., :n]
    back = order.argsort(-1)
    out, heavy = out.gather(3, back[..., None].expand_as(out)), heavy.gather(3, back)
    return (out * heavy.softmax(2)[..., None]).sum(2)


def _sorted(x, order, length):
    """Put tokens into the order of every round, and fill the last chunk up with zeros."""
    taken = x[:, :, None].expand(-1, -1, order.shape[2], -1, -1)
    taken = taken.gather(3, order[..., None].expand(*order.shape, x.shape[-1]))
    return pad(taken, (0, 0, 0, length - x.shape[2]))


def top_k(one, q, k, v):
    (b, h, n, d), g = q.shape, k.shape[1]
    scores = shared(q, g) @ k.flatten(0, 1).mT
    kept, places = scores.topk(min(one.keys, k.shape[2]), -1)
    rows = torch.arange(b * g)[:, None, None]
    values = v.flatten(0, 1)[rows, places]
    return (softmax(kept, d)[..., None, :] @ values).reshape(b, h, n, -1)


def latent(one, q, k, v, positions, small, matrix):
    """Take sizes alone of `k` and `v`, for it makes its own; `q` has features with positions."""
    (b, h, n, _), m, d = q.shape, k.shape[2], k.shape[3]
    made = (small.flatten(0, 1) @ matrix).reshape(b, m, h, -1).transpose(1, 2)
    keys = torch.cat((made[..., :d], positions.expand(b, h, m, one.rope)), -1)
    mask = None if n == m else torch.ones(n, m, dtype=torch.bool).tril(m - n)
    return scaled_dot_product_attention(q, keys, made[..., d:], mask, is_causal=mask is None)


def gated_linear(one, q, k, v, kept):
    """Read chunks with gates of a half and more; the last is filled up with tokens of nothing."""
    (b, h, n, d), g, size = q.shape, k.shape[1], one.chunk
    chunks = -(-n // size)
    q, k, v = (_cut(x, chunks, size) for x in (q, k, v))
    kept = (
        pad(kept, (0, 0, 0, chunks * size - n), value=1.0).unflatten(2, (chunks, size)).cumprod(3)
    )
    left = kept[..., -1, None, :]
    written = (k * (left / kept)).flatten(0, 2).mT @ v.flatten(0, 2)
    written = written.unflatten(0, (b, g, chunks))
    states, state = [], torch.zeros_like(written[:, :, 0])
    for i in range(chunks):
        states.append(state)
        state = state * left[:, :, i].mT + written[:, :, i]
    before = torch.stack(states, 2).flatten(0, 2)
    asked = q.unflatten(1, (g, -1)).transpose(2, 3) * kept[:, :, :, None]
    rows = asked.reshape(b * g * chunks, -1, d)
    pairs = rows @ (k / kept).flatten(0, 2).mT
    causal = torch.ones(size, size, dtype=q.dtype).tril().repeat(h // g, 1)
    out = rows @ before + (pairs * causal) @ v.flatten(0, 2)
    out = out.reshape(b, g, chunks, h // g, size, -1).transpose(2, 3)
    return out.reshape(b, h, chunks * size, -1)[:, :, :n]


def _cut(x, chunks, size):
    left = chunks * size - x.shape[2]
    return (pad(x, (0, 0, 0, left)) if left else x).unflatten(2, (chunks, size))


def arguments(one, q, k, v):
    """Return what each takes: queries, keys, values, then numbers that are drawn or learned."""
    (b, h, n, d), (_, g, m, e) = q.shape, v.shape
    drawn = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(shape, generator=drawn, dtype=q.dtype)

    match type(one).__module__.rpartition(".")[2]:
        case "performer":
            return q, k, v, random(d, one.features)
        case "reformer":
            return q, k, v, random(d, one.rounds * -(-n // one.chunk))
        case "latent":
            positions, small = random(b, 1, m, one.rope), random(b, m, one.rank)
            asked = random(b, h, n, d + one.rope)
            return asked, k, v, positions, small, random(one.rank, h * (d + e))
        case "gated_linear":
            return q, k, v, random(b, g, n, d).sigmoid()
    return q, k, v
