"""The weights of each generated token are those of eager attention, and no key is kept for them."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost.view.capture.capture import capture

PROMPT, NEW = 9, 4
WAYS = {
    "dynamic": {},
    "static": {"cache_implementation": "static", "disable_compile": True},
    "beams": {"num_beams": 3},
    "no cache": {"use_cache": False},
}
LAYERS = {"llama": "model.layers.{}.self_attn", "gpt2": "transformer.h.{}.attn"}


def written(model, batch, **options):
    options = {"max_new_tokens": NEW, "do_sample": False, "return_dict_in_generate": True} | options
    with torch.no_grad():
        return model.generate(**batch, **options)


@pytest.mark.parametrize(
    ("name", "padding", "way"),
    [
        ("llama", "left", "dynamic"),
        ("llama", "left", "static"),
        ("llama", "left", "beams"),
        ("llama", None, "no cache"),
        ("gpt2", "left", "dynamic"),
        ("gpt2", None, "static"),
    ],
)
def test_rows_of_a_generation_are_those_of_eager_attention(name, padding, way):
    model, batch = zoo.ZOO[name](), zoo.inputs(name, padding, length=PROMPT)
    model.set_attn_implementation("eager")
    eager = written(model, batch, output_attentions=True, **WAYS[way])
    model.set_attn_implementation("sdpa")
    plain = written(model, batch, **WAYS[way])
    with capture(model, rows="last") as captured:
        found = written(model, batch, **WAYS[way])
    assert torch.equal(found.sequences, plain.sequences)
    assert torch.equal(found.sequences, eager.sequences)
    assert len(captured) == 0
    for number in range(3):
        rows = captured.weights(LAYERS[name].format(number))
        assert [row.shape[3] for row in rows] == [PROMPT + t for t in range(NEW)]
        for row, step in zip(rows, eager.attentions, strict=True):
            expected = step[number][:, :, -1:]
            assert not expected[..., row.shape[3] :].any()  # the unfilled end of a static cache
            torch.testing.assert_close(row, expected[..., : row.shape[3]], atol=1e-5, rtol=1e-4)
        whole = captured.rows(LAYERS[name].format(number))
        for row, together in zip(rows, whole, strict=True):
            assert torch.equal(together[..., : row.shape[3]], row[:, :, 0])
            assert not together[..., row.shape[3] :].any()


def test_tokens_keep_a_row_each_and_no_keys():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama", None, length=PROMPT)
    with capture(model, layers=[1], heads=[0, 3], rows="last") as captured:
        written(model, batch)
    (name,) = captured.names
    rows = captured.weights(name)
    storages = {row.untyped_storage().data_ptr(): row.untyped_storage() for row in rows}
    sequences = len(batch["input_ids"])
    expected = 4 * sequences * 2 * sum(range(PROMPT, PROMPT + NEW))
    assert sum(storage.nbytes() for storage in storages.values()) == expected
    assert captured.rows(name).shape == (NEW, sequences, 2, PROMPT + NEW - 1)


def test_whole_calls_of_a_static_cache_are_what_they_were_when_it_was_not_yet_full():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama", None, length=PROMPT)
    options = WAYS["static"]
    with capture(model, layers=[0], rows="last") as rows, capture(model, layers=[0]) as whole:
        written(model, batch, **options)
    (name,) = whole
    for row, seen in zip(rows.weights(name), whole[name], strict=True):
        torch.testing.assert_close(seen.weights(-1), row)
