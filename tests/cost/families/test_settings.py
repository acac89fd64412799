"""Settings that are not what they should be are refused in one line, whatever the family."""

import pytest
from tests.cost.families.test_kimi_linear import PUBLISHED as KIMI
from tests.cost.families.test_llama import SIZES
from tests.cost.families.test_nemotron_h import SIZES as NEMOTRON

from attncost.core.errors import ShapeError
from attncost.cost.reading import understood

LLAMA = SIZES | {"model_type": "llama"}
QWEN = SIZES | {"model_type": "qwen3_moe"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (LLAMA | {"architectures": 5}, "architectures of .* must be a list of str, got 5"),
        (LLAMA | {"architectures": "LlamaForCausalLM"}, "must be a list of str, got 'Llama"),
        (SIZES | {"model_type": "gemma2", "layer_types": 5}, "layer_types .* got 5"),
        (SIZES | {"model_type": "gemma2", "sliding_window_pattern": None}, "got None"),
        (QWEN | {"mlp_only_layers": ["1"]}, "mlp_only_layers .* a list of int, got"),
        (KIMI | {"linear_attn_config": 5}, "linear_attn_config 5"),
        (NEMOTRON | {"num_hidden_layers": 99}, "has 99 num_hidden_layers and"),
    ],
)
def test_what_is_no_setting_is_refused(settings, reason):
    with pytest.raises(ShapeError, match=reason) as caught:
        understood(settings, name="this model", source="a test")
    assert "\n" not in str(caught.value)
