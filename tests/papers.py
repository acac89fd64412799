"""The models of the papers whose figures are recomputed, with the sizes that the papers print."""

import json
from dataclasses import replace
from pathlib import Path

from attncost import Causal, Configuration
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.layer import Layer, Layers

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published.json").read_text("utf-8"))
EVERYWHERE = frozenset({"q", "k", "v", "output"})


def table(name):
    """Return the rows of a published table, each by the names of its columns."""
    entry = PUBLISHED[name]
    return [dict(zip(entry["columns"], row, strict=True)) for row in entry["rows"]]


def decoder(name, *, layers, attention, feed, norm, others=0):
    """Return a causal decoder with nothing at its ends."""
    d = attention["d_model"]
    kv_heads = attention.get("kv_heads", attention["heads"])
    layer = Layer(
        d_model=d,
        mixers=(Grouped(**attention | {"kv_heads": kv_heads, "pattern": Causal()}),),
        feed=feed,
        norms=2,
        norm_numbers=norm,
        others=others,
    )
    return Configuration(name=name, d_model=d, stack=(Layers(layer, layers),), norms=norm * d)


def with_logits(model, vocabulary, *, positions=0):
    """Return a model with a table of tokens, which its logits are taken with, too."""
    return replace(
        model,
        embedding=Embedding(vocabulary=vocabulary, positions=positions),
        head=Head(kind="logits", width=vocabulary, tied=True),
    )


def gpt(*, layers, hidden, heads, vocabulary, length):
    """Return a model of the shape of GPT-2, whose `hidden` is the width of a token."""
    head_dim = hidden // heads if isinstance(hidden, int) else hidden / heads
    attention = {"d_model": hidden, "heads": heads, "head_dim": head_dim}
    model = decoder(
        f"{layers} layers of {hidden}",
        layers=layers,
        attention=attention | {"biases": EVERYWHERE},
        feed=Dense(d_model=hidden, hidden=4 * hidden, biased=True),
        norm=2,
    )
    return with_logits(model, vocabulary, positions=length)


def megatron(entry, row):
    """Return a model of Narayanan et al. or Korthikanti et al."""
    common = PUBLISHED[entry]
    return gpt(
        layers=row["layers"],
        hidden=row["hidden"],
        heads=row["heads"],
        vocabulary=common["vocabulary"],
        length=common["length"],
    )


def chinchilla(row):
    """Return a model of Chinchilla's Table A4, with relative positions as in Transformer-XL.

    Each of its layers has one matrix more, for positions, and two biases for each head's features;
    both are parameters, and no FLOPs in the paper.
    """
    d, width = row["d_model"], row["heads"] * row["key_size"]
    attention = {"d_model": d, "heads": row["heads"], "head_dim": row["key_size"]}
    model = decoder(
        row["name"],
        layers=row["layers"],
        attention=attention | {"biases": EVERYWHERE},
        feed=Dense(d_model=d, hidden=row["ffw"], biased=True),
        norm=2,
        others=d * width + 2 * width,
    )
    return with_logits(model, PUBLISHED["chinchilla_table_a4"]["vocabulary"])


def palm():
    """Return PaLM 540B: one key head, a gate, no biases; its print has no room for norms."""
    sizes = PUBLISHED["palm_appendix_b"]
    model = decoder(
        "PaLM 540B",
        layers=sizes["layers"],
        attention={name: sizes[name] for name in ("d_model", "heads", "kv_heads", "head_dim")},
        feed=Dense(d_model=sizes["d_model"], hidden=sizes["hidden"], gated=True),
        norm=0,
    )
    return with_logits(model, sizes["vocabulary"])
