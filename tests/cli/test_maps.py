"""`attncost maps`, against weights that the models compute themselves."""

import json

import numpy as np
import pytest
import torch
import transformers
from tests.integrations.tiny import WORDS, save_bert, save_llama, save_t5, save_vit

import attncost as ac
from attncost.cli import main

TEXT = "the cat sat on the mat\na dog ran and it was not here\n"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    saved = {"bert": save_bert, "llama": save_llama, "t5": save_t5, "vit": save_vit}
    return {name: save(home / name) for name, save in saved.items()}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)


@pytest.fixture
def seen(folders, capsys):
    """Return the summary of a run as JSON."""

    def run(name, *arguments):
        assert main(["maps", str(folders[name]), *arguments, "--json"]) == 0
        captured = capsys.readouterr()
        assert captured.err == "", "no bar where there is no terminal"
        return json.loads(captured.out)

    return run


def header(page):
    text = page.read_text()
    begin = text.index('id="attncost-maps"')
    return json.loads(text[text.index(">", begin) + 1 : text.index("</script>", begin)])


def eager(folder, **inputs):
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        return model(**inputs, output_attentions=True).attentions


def test_the_numbers_of_heads_are_those_of_eager_weights(seen, folders, tmp_path):
    found = seen("bert", "--text", "text.txt")
    assert found["schema"] == "attncost.maps_summary/1"
    (tokens,) = (one["tokens"] for one in header(tmp_path / "attncost-maps.html")["sequences"])
    assert tokens == ["<s>", *TEXT.split(), "</s>"]
    ids = torch.tensor([[1, 4, 5, 6, 7, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 2]])
    layers = eager(folders["bert"], input_ids=ids)
    n = len(tokens)
    apart = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    assert len(found["heads"]) == 4
    for row in found["heads"]:
        weights = layers[int(row["layer"].split(".")[2])][0, row["head"]].double()
        assert row["entropy"] == pytest.approx(
            float(-(weights * weights.log()).sum(1).mean()), abs=1e-5
        )
        assert row["on_first"] == pytest.approx(float(weights[:, :4].sum(1).mean()), abs=1e-5)
        assert row["on_self"] == pytest.approx(float(weights.diagonal().mean()), abs=1e-5)
        assert row["on_previous"] == pytest.approx(float(weights.diagonal(-1).sum() / n), abs=1e-5)
        assert row["special"] == pytest.approx(float(weights[:, [0, -1]].sum(1).mean()), abs=1e-5)
        mass = [float(weights[apart <= d].sum() / n) for d in range(n)]
        assert row["width"] == 1 + next(d for d in range(n) if mass[d] >= 0.95)
        assert row["half_width"] == 1 + next(d for d in range(n) if mass[d] >= 0.5)


def test_a_terminal_of_80_columns_says_what_matters(folders, tmp_path, capsys):
    assert main(["maps", str(folders["llama"]), "--text", "text.txt", "-o", "page.html"]) == 0
    printed = capsys.readouterr().out
    *lines, last = printed.splitlines()
    assert max(map(len, lines)) <= 80
    said = " ".join(printed.split())
    assert "What 4 heads in 2 layers of" in said
    assert "text.txt, 16 tokens." in said
    assert "of 4 heads" in said
    assert "contain the tokens of the text and the model's activations" in said
    assert last.startswith("The page (")
    assert last.endswith(str(tmp_path / "page.html"))
    assert not (tmp_path / "attncost-maps.html").exists()


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    """A decoder whose heads look nearby: what they compare are positions, turned by RoPE, alone."""
    folder = save_llama(tmp_path_factory.mktemp("models") / "near")
    model = transformers.LlamaModel.from_pretrained(folder)
    with torch.no_grad():
        model.embed_tokens.weight[:, :8] = 0.02
        for layer in model.layers:
            layer.self_attn.q_proj.weight.zero_()[:8, :8] = 9 * torch.eye(8)
            layer.self_attn.k_proj.weight.zero_()[:, :8] = 9 * torch.eye(8)
    model.save_pretrained(folder)
    return folder


def test_a_line_that_is_printed_moves_the_model_as_it_says(near, tmp_path, capsys):
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "it", "was", "not", "here"] * 46
    (tmp_path / "long.txt").write_text(" ".join(words))
    heads = ["--heads", "0", "--layers", "0"]
    assert main(["maps", str(near), "--text", "long.txt", *heads, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (price,) = found["layers"]
    (finding,) = (one for one in found["findings"] if one["key"] == "swap")
    assert finding["values"]["line"] == price["swap"]
    model = transformers.LlamaModel.from_pretrained(near)
    ids = torch.tensor([[1, *(4 + WORDS.index(word) for word in words), 2]])
    with torch.no_grad():
        before = model(ids).last_hidden_state
        handle = eval(price["swap"], {"ac": ac, "model": model})
        after = model(ids).last_hidden_state
        handle.restore()
    assert price["damage"] == pytest.approx(float((after - before).norm() / before.norm()), 1e-3)
    assert price["damage"] > 0
    assert price["share"] < 1


def test_layers_and_heads_are_chosen_and_the_rest_is_not_kept(seen, tmp_path):
    found = seen("bert", "--text", "text.txt", "--layers=-1", "--heads", "0", "--no-prices")
    assert [(row["layer"], row["head"]) for row in found["heads"]] == [
        ("encoder.layer.1.attention.self", 0)
    ]
    assert found["layers"] == []
    (layer,) = header(tmp_path / "attncost-maps.html")["layers"]
    assert [head["number"] for head in layer["heads"]] == [0]
    assert layer["swap"] is None
    assert layer["heads"][0]["price"] is None


def test_a_decoder_beside_an_encoder_has_tokens_of_its_own(seen, tmp_path):
    found = seen("t5", "--text", "text.txt", "--length", "6")
    names = [one["tokens"] for one in header(tmp_path / "attncost-maps.html")["sequences"]]
    source = ["<s>", "the", "cat", "sat", "on", "</s>"]
    assert source in names
    assert ["<start>", *source] in names
    crossing = [row for row in found["heads"] if row["width"] is None]
    assert {row["layer"] for row in crossing} == {"decoder.block.0.layer.1.EncDecAttention"}
    assert found["left_out"] == "10 tokens"
    (finding,) = (one for one in found["findings"] if one["key"] == "heads")
    assert "of 4 self-attention heads" in finding["text"]


def test_an_image_lies_under_its_patches(seen, tmp_path):
    np.save("cat.npy", np.full((8, 8, 3), 7, np.uint8))
    seen("vit", "--image", "cat.npy")
    (sequence,) = header(tmp_path / "attncost-maps.html")["sequences"]
    grid = sequence["grid"]
    assert (grid["rows"], grid["columns"], grid["first"]) == (2, 2, 1)
    assert grid["image"]["width"] == 8


def test_one_head_becomes_a_picture_and_no_page(folders, tmp_path, capsys):
    chosen = ["--text", "text.txt", "--layers", "1", "--heads", "1", "--query", "-1"]
    pictures = ["--svg", "head.svg", "--png", "head.png"]
    assert main(["maps", str(folders["bert"]), *chosen, *pictures]) == 0
    assert capsys.readouterr().out.count("The picture (") == 2
    drawn = (tmp_path / "head.svg").read_text()
    assert drawn.startswith("<svg")
    assert "Layer 1, head 1 of " in drawn
    assert (tmp_path / "head.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".png", ".svg", ".txt"]


def test_a_function_is_looked_at_with_its_own_inputs(tmp_path, capsys):
    (tmp_path / "mine_to_see.py").write_text("""
import torch
from torch import nn

class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.heads = nn.Embedding(9, 8), nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, ids):
        x = self.table(ids)
        return self.heads(x, x, x, need_weights=False)[0]

def mine(length):
    return Mine(), torch.arange(length)[None] % 9
""")
    assert main(["maps", "mine_to_see:mine", "--length", "7", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["read"] == "Inputs of its own"
    assert [row["head"] for row in found["heads"]] == [0, 1]
    (sequence,) = header(tmp_path / "attncost-maps.html")["sequences"]
    assert sequence["tokens"] == ["0", "1", "2", "3", "4", "5", "6"]
    assert main(["maps", "mine_to_see:mine", "--length", "7"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "takes its inputs by position; make it return (module, {name: tensor})." in said


def test_padded_queries_do_not_count_and_calls_of_one_module_are_told_apart(tmp_path, capsys):
    (tmp_path / "padded_to_see.py").write_text("""
import torch
from torch import nn

class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, hidden):
        for _ in range(2):
            x = self.heads(x, x, x, key_padding_mask=hidden, need_weights=False)[0]
        return x

def padded():
    torch.manual_seed(0)
    x = torch.randn(1, 1, 8).expand(1, 16, 8)
    return Shared(), (x, torch.arange(16)[None] >= 4)
""")
    assert main(["maps", "padded_to_see:padded", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["heads"]
    assert [(row["layer"], row["call"], row["head"]) for row in rows] == [
        ("heads", call, head) for call in (1, 2) for head in (0, 1)
    ]
    # Of 4 equal tokens, each gives every one a quarter.
    for row in rows:
        assert (row["width"], row["half_width"]) == (4, 2)
        assert row["on_self"] == pytest.approx(1 / 4)
        assert row["on_previous"] == pytest.approx(3 / 16)
    page = header(tmp_path / "attncost-maps.html")
    assert [layer["name"] for layer in page["layers"]] == ["heads (call 1)", "heads (call 2)"]
    for layer in page["layers"]:
        assert [head["measures"]["width"] for head in layer["heads"]] == [4, 4]
        assert layer["heads"][0]["measures"]["distance"] == pytest.approx(20 / 16)


def test_the_demo_shows_real_heads_of_the_example_text(tmp_path, capsys):
    """BERT-like encoders rest on their marks: Clark et al. 2019, arXiv:1906.04341."""
    assert main(["maps", "demo", "--layers", "0,3", "--length", "64"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "pride_and_prejudice.txt, its first 64 tokens." in printed
    assert "tokens more are left out" in printed
    assert "No window that holds 95 % of a layer's mass is cheaper here" in printed
    found = header(tmp_path / "attncost-maps.html")
    assert found["command"] == "attncost maps demo --length 64 --layers 0,3"
    assert [layer["number"] for layer in found["layers"]] == [0, 3]
    assert found["sequences"][0]["tokens"][:3] == ["[CLS]", "it", "is"]
