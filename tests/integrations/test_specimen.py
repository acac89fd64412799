"""A model with what it reads: tokens, documents, patches, and each thing that may be missing."""

import json
import re

import numpy as np
import pytest
import torch
from tests.integrations.tiny import save_bert, save_llama, save_t5, save_vit

from attncost.core.errors import ShapeError, StorageError, UnknownName
from attncost.integrations.checkpoint import checkpoint
from attncost.integrations.pretrained import demo_folder
from attncost.integrations.specimen import Wish, of_function, specimen


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    saved = {"bert": save_bert, "llama": save_llama, "t5": save_t5, "vit": save_vit}
    return {name: save(home / name) for name, save in saved.items()}


def read(folder, *lines, **more):
    return specimen(checkpoint(str(folder)), Wish(text=lines, source="a.txt", **more))


def test_a_text_is_one_sequence_with_the_special_tokens_around_it(folders):
    found = read(folders["bert"], "the cat sat", "a dog ran")
    assert found.tokens == ["<s>", "the", "cat", "sat", "a", "dog", "ran", "</s>"]
    assert found.options["input_ids"].tolist() == [[1, 4, 5, 6, 9, 10, 11, 2]]
    assert found.special == (True, *[False] * 6, True)
    assert (found.read, found.left_out) == ("a.txt, 8 tokens", "")
    found()


def test_a_long_text_is_cut_where_the_model_ends_or_earlier(folders):
    found = read(folders["bert"], "the cat " * 50)
    assert len(found.tokens) == 24
    assert found.tokens[-1] == "</s>"
    assert (found.read, found.left_out) == ("a.txt, its first 24 tokens", "78 tokens")
    assert len(read(folders["bert"], "the cat " * 50, length=5).tokens) == 5
    assert len(read(folders["t5"], "the cat " * 600).tokens[0]) == 1024, "the usual most"


def test_a_model_that_has_no_position_for_a_token_is_not_asked_for_one(folders):
    with pytest.raises(ShapeError, match="positions for 24 tokens, got --length 25"):
        read(folders["bert"], "the", length=25)


def test_each_line_is_a_document_that_reads_itself_alone(folders):
    found = read(folders["llama"], "the cat sat", "", "a dog", apart=True)
    assert found.tokens == ["<s>", "the", "cat", "sat", "</s>", "<s>", "a", "dog", "</s>"]
    assert found.options["position_ids"].tolist() == [[0, 1, 2, 3, 4, 0, 1, 2, 3]]
    together = found.model(**found.options).last_hidden_state[0, 5:]
    alone = read(folders["llama"], "a dog")
    torch.testing.assert_close(together, alone.model(**alone.options).last_hidden_state[0])
    assert found.read.startswith("a.txt, its 2 lines of 9 tokens together, each")


def test_lines_that_do_not_fit_are_left_out_and_longer_ones_than_the_model_are_cut(folders):
    lines = ["the cat " * 40, *["a dog"] * 6]
    found = read(folders["bert"], *lines, apart=True, length=34)
    assert len(found.tokens) == 24 + 4 + 4
    assert found.left_out == "4 lines"
    assert "its first 3 lines (1 of them cut)" in found.read


@pytest.mark.parametrize(
    ("lines", "length", "read_", "left_out"),
    [
        (["the cat"], 9, "its one line, 4 tokens", ""),
        (["the cat sat"], 4, "its one line (cut), 4 tokens", ""),
        (["the cat", "a dog"], 5, "its first line, 4 tokens", "1 line"),
    ],
)
def test_one_line_stands_together_with_no_other(lines, length, read_, left_out, folders):
    found = read(folders["llama"], *lines, apart=True, length=length)
    assert (found.read, found.left_out) == (f"a.txt, {read_}", left_out)


def test_fewer_tokens_than_the_tokenizer_adds_are_refused(folders):
    for apart in (False, True):
        with pytest.raises(ShapeError, match="must be at least 2: the tokenizer adds 2 tokens"):
            read(folders["bert"], "the cat", length=1, apart=apart)
    found = read(folders["bert"], "the", length=2)
    assert (found.read, found.left_out) == ("a.txt, its first 2 tokens", "1 token")


def test_an_encoder_with_a_decoder_writes_what_it_reads(folders):
    found = read(folders["t5"], "the cat")
    assert found.tokens == (["<s>", "the", "cat", "</s>"], ["<start>", "<s>", "the", "cat", "</s>"])
    assert found.options["decoder_input_ids"].tolist() == [[0, 1, 4, 5, 2]]
    found()


def test_an_image_is_a_grid_of_patches(folders, tmp_path):
    np.save(tmp_path / "cat.npy", np.zeros((20, 10, 3), np.uint8))
    wish = Wish(image=tmp_path / "cat.npy", source="cat.npy")
    found = specimen(checkpoint(str(folders["vit"])), wish)
    assert found.grid == (2, 2)
    assert found.image.shape == (8, 8, 3)
    assert found.tokens is None
    assert found.read == "cat.npy, 8 x 8 pixels"
    found()


def test_a_function_brings_its_own_inputs_and_its_tokens_are_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brought.py").write_text("""
import torch
from torch import nn

def sized(length):
    return nn.Embedding(9, 4), torch.arange(length)[None] % 9
def features():
    return nn.TransformerEncoderLayer(4, 2, batch_first=True), torch.zeros(1, 3, 4)
def failing():
    return nn.Linear(4, 4), torch.zeros(1, 3)
""")
    found = of_function("brought:sized", 5)
    assert found.tokens == ["0", "1", "2", "3", "4"]
    assert len(of_function("brought:sized", None).tokens) == 1024
    found = of_function("brought:features", None)
    assert found.tokens is None
    assert not found.model.training
    found()
    with pytest.raises(ShapeError, match=r"inputs of its own sizes: leave --length out"):
        of_function("brought:features", 5)
    with pytest.raises(ShapeError, match="brought:failing raised RuntimeError"):
        of_function("brought:failing", None)()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("llama-3-8b", "llama-3-8b has no weights here"),
        ("layer:heads=4", "layer:d_model=512,heads=4 has random weights"),
        ("layer:heads=x", "heads of layer must be a whole number"),
        ("no/such/folder", "no model, folder or preset is called"),
    ],
)
def test_what_has_no_weights_is_told_with_what_to_give(name, reason):
    with pytest.raises((ShapeError, UnknownName), match=re.escape(reason)) as raised:
        checkpoint(name)
    assert "demo" in str(raised.value) or "whole number" in str(raised.value)


def test_a_folder_without_weights_or_tokenizer_is_told_from_one_of_images(folders, tmp_path):
    save_bert(tmp_path / "config", weights=False)
    with pytest.raises(ShapeError, match="has no weights here, so there is nothing to see"):
        checkpoint(str(tmp_path / "config"))
    save_bert(tmp_path / "mute", tokenizer=False)
    with pytest.raises(ShapeError, match=r"no tokenizer here to read a text with: put its token"):
        checkpoint(str(tmp_path / "mute")).check_reads_text()
    with pytest.raises(ShapeError, match="reads images: give one with --image FILE"):
        checkpoint(str(folders["vit"])).check_reads_text()
    with pytest.raises(ShapeError, match="reads text, no images: leave --image out"):
        checkpoint(str(folders["bert"])).check_reads_images()
    with pytest.raises(StorageError, match=r"no preprocessor_config\.json"):
        specimen(checkpoint(str(tmp_path / "mute")), Wish(image=tmp_path / "cat.npy"))
    checkpoint("demo").check_reads_text()
    assert checkpoint("demo").folder == demo_folder()


def test_a_kind_that_no_formula_describes_can_be_looked_at(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.BloomConfig(hidden_size=16, n_layer=1, n_head=2, vocab_size=32)
    transformers.BloomModel(config).save_pretrained(tmp_path / "bloom")
    found = checkpoint(str(tmp_path / "bloom"))
    assert (found.longest, found.images) == (None, False)
    settings = {"model_type": "mine", "auto_map": {"AutoModel": "mine.Mine"}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ShapeError, match="needs code of its own"):
        checkpoint(str(tmp_path))
