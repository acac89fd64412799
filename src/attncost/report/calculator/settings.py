"""What can be set on the calculator's page: sizes with their limits, and choices.

Everything here has a name that formulas use as a symbol, and a letter that people read.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from attncost.cost.planning.precision import BITS
from attncost.cost.planning.situation import KERNELS, STATES, WORKS

Group: TypeAlias = Literal["main", "attention", "machine", "model"]
Unit: TypeAlias = Literal["tokens", "sequences", "features", "count", "bytes", "rate", "moved"]

_GIB: Final = 1 << 30
ON_OFF: Final = ("off", "on")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """A whole number that can be set; a rate need not be whole.

    Attributes:
        name: In formulas.
        symbol: The letter for people.
        title: What it is called.
        says: What it is, in a sentence or less.
        unit: What it counts.
        low: The least.
        high: The greatest.
        default: At first.
        group: Where it stands; `model` for what the structure of a model decides.
    """

    name: str
    symbol: str
    title: str
    says: str = ""
    unit: Unit = "count"
    low: int = 1
    high: int
    default: int
    group: Group = "main"
    scale: Literal["log", "linear"] = "log"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One of several words.

    Attributes:
        name: In formulas.
        title: What it is called.
        options: The words, and how people read them.
        default: At first.
        group: As of a size.
    """

    name: str
    title: str
    options: dict[str, str] = field(hash=False)
    default: str
    group: Group = "model"


def _few(name: str, symbol: str, title: str, *, default: int = 0, high: int = 8) -> Size:
    return Size(
        name=name,
        symbol=symbol,
        title=title,
        low=0,
        high=high,
        default=default,
        group="model",
        scale="linear" if high <= 8 else "log",
    )


SIZES: Final = (
    Size(name="length", symbol="n", title="Length", unit="tokens", high=1 << 30, default=8192),
    Size(name="batch", symbol="b", title="Batch", unit="sequences", high=1 << 20, default=1),
    Size(name="layers", symbol="L", title="Layers", high=1024, default=32),
    Size(name="d_model", symbol="d_model", title="Features", high=1 << 16, default=4096),
    Size(name="heads", symbol="h", title="Heads", high=1024, default=32),
    Size(name="kv_heads", symbol="g", title="Heads of keys", high=1024, default=8),
    Size(name="head_dim", symbol="d", title="Features of a head", high=4096, default=128),
    Size(name="hidden", symbol="f", title="Hidden features", high=1 << 20, default=14336),
    Size(name="vocabulary", symbol="V", title="Vocabulary", high=1 << 22, default=128256),
    Size(
        name="memory",
        symbol="M",
        title="Memory",
        unit="bytes",
        low=1 << 20,
        high=1 << 50,
        default=80 * _GIB,
        group="machine",
    ),
    Size(
        name="peak",
        symbol="F",
        title="FLOPs a second",
        unit="rate",
        low=10**6,
        high=10**18,
        default=10**15,
        group="machine",
    ),
    Size(
        name="bandwidth",
        symbol="B",
        title="Bytes a second",
        unit="moved",
        low=10**6,
        high=10**15,
        default=3 * 10**12,
        group="machine",
    ),
    Size(
        name="page",
        symbol="p",
        title="Page of the cache",
        says="tokens that a cache reserves at a time",
        unit="tokens",
        high=1 << 16,
        default=1,
        group="machine",
    ),
    _few("norms", "N", "Norms in a layer", default=2),
    _few("embedding_norms", "E", "Norms of the embedding", high=1),
    _few("positions", "P_n", "Table of positions", high=1 << 24),
    _few("token_types", "T", "Kinds of token"),
    Size(
        name="longest",
        symbol="n_max",
        title="Most tokens",
        says="that its positions allow; 0 for any number",
        unit="tokens",
        low=0,
        high=1 << 24,
        default=0,
        group="model",
    ),
)


def _precision(name: str, title: str) -> Choice:
    return Choice(
        name=name,
        title=title,
        options={one: one for one in BITS},
        default="bfloat16",
        group="machine",
    )


CHOICES: Final = (
    Choice(
        name="work",
        title="Work",
        options=dict(
            zip(WORKS, ("read a prompt", "write a token", "a training step"), strict=True)
        ),
        default="prefill",
        group="machine",
    ),
    Choice(
        name="kernel",
        title="Kernel",
        options=dict(zip(KERNELS, ("fused", "naive, keeps all weights"), strict=True)),
        default="fused",
        group="attention",
    ),
    _precision("weights", "Weights"),
    _precision("kv", "Keys and values"),
    _precision("activations", "Activations"),
    Choice(
        name="optimizer",
        title="Optimizer",
        options={one: one for one in STATES},
        default="adamw",
        group="machine",
    ),
    Choice(
        name="checkpointing",
        title="Checkpointing",
        options={"off": "keep all", "on": "keep inputs of layers"},
        default="off",
        group="machine",
    ),
    Choice(
        name="feed",
        title="Feed-forward",
        options={"gated": "three matrices, gated", "plain": "two matrices", "none": "none"},
        default="gated",
        group="main",
    ),
    Choice(
        name="embedding",
        title="Table of tokens",
        options={"table": "one row a token", "none": "none"},
        default="table",
    ),
    Choice(
        name="head",
        title="Head",
        options={
            "logits": "logits",
            "tied": "logits, the table's matrix",
            "masked": "masked tokens, as in BERT",
            "pooler": "pooler, as in BERT",
            "none": "none",
        },
        default="logits",
    ),
    Choice(
        name="biases",
        title="Biases of projections",
        options={"none": "none", "qkv": "queries, keys, values", "all": "all"},
        default="none",
    ),
    Choice(
        name="feed_biases",
        title="Biases of the feed-forward",
        options=dict(zip(ON_OFF, ("none", "all"), strict=True)),
        default="off",
    ),
    Choice(
        name="norm",
        title="Norms learn",
        options={"rms": "a scale", "layer": "scale and shift", "none": "nothing"},
        default="rms",
    ),
    Choice(
        name="head_norm",
        title="Norms of heads",
        options=dict(zip(ON_OFF, ("none", "queries and keys"), strict=True)),
        default="off",
    ),
    Choice(
        name="last_norm",
        title="Norm after the layers",
        options=dict(zip(ON_OFF, ("none", "one"), strict=True)),
        default="on",
    ),
)

# What follows from an attention: whether it keeps past tokens, and is no approximation.
FOLLOWED: Final = ("caches", "exact")
# Every choice as at first.
USUAL: Final = (
    {choice.name: choice.default for choice in CHOICES}
    | {"attention": "causal"}
    | dict.fromkeys(FOLLOWED, "on")
)
# Precisions of weights that can be trained.
TRAINED: Final = ("float32", "bfloat16", "float16")
