"""Activations against the formulas and figures of arXiv:2205.05198."""

import pytest
import sympy
from tests.papers import PUBLISHED, table

from attncost import BlockSizes, ShapeError, UnknownName
from attncost.core.counts import symbol
from attncost.cost.planning.korthikanti import activation_bytes
from attncost.cost.planning.sharding import Sharding

ENTRY = PUBLISHED["korthikanti_2022"]
FORMULAS = ENTRY["activation_bytes_per_layer_16bit_with_dropout"]
CASES = [
    ("none", "none", 1, False),
    ("tensor_parallel_t", "none", 8, False),
    ("tensor_and_sequence_parallel", "none", 8, True),
    ("selective_tp", "selective", 8, False),
    ("selective_tp_sp", "selective", 8, True),
    ("full", "full", 1, False),
    ("full", "full", 8, True),
]


@pytest.mark.parametrize(("key", "recompute", "tensor", "sequence"), CASES)
def test_the_formulas_are_those_of_table_2(key, recompute, tensor, sequence):
    s, b, h, a = (symbol(name) for name in "sbha")
    ours = activation_bytes(
        BlockSizes(d_model=h, heads=a),
        length=s,
        batch=b,
        sharding=Sharding(tensor=tensor, sequence=sequence),
        recompute=recompute,
    )
    letters = {"s": s, "b": b, "h": h, "a": a, "t": tensor}
    assert sympy.expand(ours - sympy.sympify(FORMULAS[key], locals=letters)) == 0


@pytest.mark.parametrize("row", table("korthikanti_2022"), ids=lambda row: row["name"])
@pytest.mark.parametrize(("key", "recompute", "tensor", "sequence"), CASES)
def test_whole_numbers_give_the_whole_numbers_of_table_2(row, key, recompute, tensor, sequence):
    ours = activation_bytes(
        BlockSizes(d_model=row["hidden"], heads=row["heads"], hidden=4 * row["hidden"]),
        length=ENTRY["length"],
        batch=4,
        sharding=Sharding(tensor=tensor, sequence=sequence),
        recompute=recompute,
    )
    letters = {"s": ENTRY["length"], "b": 4, "h": row["hidden"], "a": row["heads"], "t": tensor}
    values = {name: sympy.Integer(value) for name, value in letters.items()}
    assert isinstance(ours, int)
    assert ours == sympy.sympify(FORMULAS[key], locals=values)


@pytest.mark.parametrize(
    ("key", "recompute", "sharding"),
    [
        ("none", "none", Sharding()),
        ("tp8", "none", Sharding(tensor=8)),
        ("tp8_sp", "none", Sharding(tensor=8, sequence=True)),
        ("tp8_sp_selective", "selective", Sharding(tensor=8, sequence=True)),
    ],
)
def test_the_gibibytes_of_a_layer_of_175b(key, recompute, sharding):
    ours = activation_bytes(
        BlockSizes(d_model=12288, heads=96), length=2048, sharding=sharding, recompute=recompute
    )
    printed = FORMULAS["gib_175B_batch_1"][key]
    digits = len(str(printed).partition(".")[2])
    assert round(ours / 2**30, digits) == printed


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"hidden": 2048}, r"a feed-forward of 2048, not of 4 \* 1024: use ac.memory"),
        ({"hidden": 4096, "gated": True}, "a gate in its feed-forward"),
        ({"kv_heads": 2}, "2 heads of keys for 8 of queries"),
        ({"head_dim": 64}, "8 heads of 64 features, not 1024 in all"),
    ],
)
def test_other_layers_are_refused(sizes, message):
    with pytest.raises(ShapeError, match=message):
        activation_bytes(BlockSizes(**{"d_model": 1024, "heads": 8} | sizes), length=16)


def test_devices_that_cannot_share_the_layer_are_refused():
    block = BlockSizes(d_model=96, heads=12)
    with pytest.raises(ShapeError, match="tensor must divide heads, got tensor=8 for 12"):
        activation_bytes(block, length=16, sharding=Sharding(tensor=8))
    with pytest.raises(ShapeError, match="tensor must divide length, got tensor=4 for 15"):
        activation_bytes(block, length=15, sharding=Sharding(tensor=4, sequence=True))


def test_an_unknown_recomputation_is_refused():
    with pytest.raises(UnknownName, match="'selectiv'; did you mean 'selective'"):
        activation_bytes(BlockSizes(d_model=8, heads=2), length=4, recompute="selectiv")
