"""The models of the papers whose figures are recomputed, with the sizes that the papers print."""

import json
from pathlib import Path

from attncost import BlockSizes, Causal, Configuration
from attncost.cost.learned import Learned

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published.json").read_text("utf-8"))
EVERYWHERE = frozenset({"qkv", "output", "feed-forward"})


def table(name):
    """Return the rows of a published table, each by the names of its columns."""
    entry = PUBLISHED[name]
    return [dict(zip(entry["columns"], row, strict=True)) for row in entry["rows"]]


def gpt(*, layers, hidden, heads, vocabulary, length):
    """Return a model of the shape of GPT-2, whose `hidden` is the width of a token."""
    return Configuration(
        name=f"{layers} layers of {hidden}",
        layers=layers,
        block=BlockSizes(d_model=hidden, heads=heads, hidden=4 * hidden),
        attention=Causal(),
        vocabulary=vocabulary,
        head="logits",
        learned=Learned(positions=length, norm=2, biases=EVERYWHERE, tied=True),
    )


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
    width = row["heads"] * row["key_size"]
    return Configuration(
        name=row["name"],
        layers=row["layers"],
        block=BlockSizes(
            d_model=row["d_model"],
            heads=row["heads"],
            head_dim=row["key_size"],
            hidden=row["ffw"],
        ),
        attention=Causal(),
        vocabulary=PUBLISHED["chinchilla_table_a4"]["vocabulary"],
        head="logits",
        learned=Learned(
            norm=2, biases=EVERYWHERE, tied=True, others=row["d_model"] * width + 2 * width
        ),
    )


def palm():
    """Return PaLM 540B: one key head, a gate, no biases; its print has no room for norms."""
    sizes = PUBLISHED["palm_appendix_b"]
    names = ("d_model", "heads", "kv_heads", "head_dim", "hidden")
    return Configuration(
        name="PaLM 540B",
        layers=sizes["layers"],
        block=BlockSizes(**{name: sizes[name] for name in names}, gated=True),
        attention=Causal(),
        vocabulary=sizes["vocabulary"],
        head="logits",
        learned=Learned(tied=True),
    )
