"""A formula that takes the place of attention agrees with the layer of a model that has it."""

import pytest

from attncost import Dims
from attncost.cost.model.latent import Latent
from attncost.cost.model.recurrent import Recurrence
from attncost.mechanisms.formulas import formula


@pytest.mark.parametrize("n", [1, 7, 4096])
def test_latent_attention_is_that_of_a_deepseek_layer_and_the_product_before_it(n):
    """DeepSeek-V2: 128 heads of 128 features and 64 with positions, made of 512."""
    layer = Latent(
        d_model=5120,
        heads=128,
        rank=512,
        query_rank=1536,
        nope_dim=128,
        rope_dim=64,
        value_dim=128,
    )
    expanded = dict(layer.before(n).steps)["k and v projection"]
    found = formula("latent").cost(Dims(heads=128, length=n, head_dim=128))
    assert dict(found.steps)["k and v projection"].useful == expanded.useful
    assert found.useful == expanded.useful + layer.core(n, n).useful
    assert found.elementwise >= layer.core(n, n).elementwise


@pytest.mark.parametrize("n", [1, 100, 4096])
def test_gated_linear_attention_is_a_recurrence_that_multiplies_its_state_twice(n):
    h, d, e, chunk = 8, 64, 128, 64
    pairs = chunk**2 * (d + e)
    layer = Recurrence(
        heads=h,
        rows=d,
        columns=e,
        products=2,
        chunk=chunk,
        in_chunk=h * (2 * chunk * d * e + pairs),
    )
    one = layer.cost(n, moved=0)
    found = formula("gated_linear", chunk=chunk).cost(
        Dims(heads=h, length=n, head_dim=d, value_dim=e)
    )
    assert (found.useful, found.executed, found.dense) == (one.useful, one.executed, one.dense)
