"""What a model is given to read, against its tokenizer asked directly."""

import json

import pytest
from tests.integrations.tiny import save_bert, save_llama, save_t5
from transformers import AutoTokenizer

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.checkpoint import checkpoint
from attncost.train.quality.models.loading import Texts, of_checkpoint, of_factory
from attncost.train.quality.models.passages import each_line, joined

LINES = ["the cat sat on the mat", "", "a dog ran", "the cat sat on the mat", "and it was not here"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def laid(lay, folder, lines, **more):
    return lay(folder, lines, **({"longest": 24, "most": 9, "source": "book"} | more))


def test_each_line_is_a_text_once(folder):
    found = laid(each_line, folder, LINES)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    wanted = [tokenizer(LINES[i])["input_ids"] for i in (0, 2, 4)]
    assert [list(text) for text in found.texts] == wanted
    assert found.described == (
        "book: 3 lines of 5 to 8 tokens.",
        "1 line left out, as it repeats another.",
        "1 line blank.",
    )


def test_long_lines_are_cut_and_that_is_said(folder):
    found = laid(each_line, folder, ["the cat " * 30, "a dog"], longest=10)
    assert sorted(map(len, found.texts)) == [4, 10]
    assert "1 line cut at 10 tokens." in found.described


def test_no_more_texts_than_wished_are_spread_over_the_file(folder):
    lines = [" ".join(["the"] * i) for i in range(1, 9)]
    found = laid(each_line, folder, lines, most=4)
    assert [len(text) - 2 for text in found.texts] == [1, 3, 5, 7]
    assert found.described[0] == "book: 4 of its 8 lines, evenly spread, of 3 to 9 tokens."


def test_passages_hold_the_whole_text_between_special_tokens(folder):
    found = laid(joined, folder, ["the cat sat", "on the mat a dog ran"], longest=6)
    ids = AutoTokenizer.from_pretrained(folder)("the cat sat on the mat a dog ran")["input_ids"]
    assert [text[0] for text in found.texts] == [ids[0]] * 2
    assert [text[-1] for text in found.texts] == [ids[-1]] * 2
    assert [one for text in found.texts for one in text[1:-1]] == ids[1:9]
    assert found.described[1] == "1 token at its end left out."
    (short,) = laid(joined, folder, ["the cat"]).texts
    assert list(short) == AutoTokenizer.from_pretrained(folder)("the cat")["input_ids"]


def test_odd_letters_are_read_like_any(folder):
    lines = ["</script><b>the</b>", "\N{SNOWMAN} caf\N{LATIN SMALL LETTER E WITH ACUTE}", "\u200b"]
    assert len(laid(each_line, folder, lines).texts) >= 2


def test_a_text_without_words_and_too_few_tokens_are_refused(folder):
    with pytest.raises(ShapeError, match="holds no line that the model can read"):
        laid(each_line, folder, ["", " "])
    with pytest.raises(ShapeError, match="--length must leave room beside 2 special tokens"):
        laid(joined, folder, LINES, longest=2)


def test_what_was_saved_to_write_is_judged_by_the_next_token(tmp_path, folder):
    wish = Texts(lines=LINES, source="book")
    assert of_checkpoint(checkpoint(str(folder)), wish).pooling == "mean"
    base = save_llama(tmp_path / "base")
    assert of_checkpoint(checkpoint(str(base)), wish).pooling == "mean", "it has no logits"
    with pytest.raises(UnsupportedOption, match="reads one text and writes another"):
        of_checkpoint(checkpoint(str(save_t5(tmp_path / "t5"))), wish)


@pytest.mark.parametrize(
    ("settings", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "last"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_vectors_are_pooled_as_the_folder_says(tmp_path, settings, pooling):
    folder = save_bert(tmp_path / "bert")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(settings))
    found = of_checkpoint(checkpoint(str(folder)), Texts(lines=LINES, source="book"))
    assert found.pooling == pooling
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(UnsupportedOption, match="pools by max_tokens"):
        of_checkpoint(checkpoint(str(folder)), Texts(lines=LINES, source="book"))


def test_rows_of_a_function_are_texts_without_their_padding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made_rows.py").write_text(
        "import torch\n"
        "from tests.train.quality.models.readings import bert\n"
        "IDS = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7], [1, 2, 3, 9]])\n"
        "MASK = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0]])\n"
        "def rows():\n"
        "    return bert(), {'input_ids': IDS, 'attention_mask': MASK}\n"
        "def more():\n"
        "    return bert(), {'input_ids': IDS, 'token_type_ids': MASK}\n"
    )
    found = of_factory("made_rows:rows", None)
    assert found.texts == ((1, 2, 3), (4, 5, 6, 7))
    with pytest.raises(ShapeError, match="got token_type_ids"):
        of_factory("made_rows:more", None)
