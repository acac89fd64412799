"""`attncost quality MODEL`, against vectors of the same model that are computed apart."""

import json

import numpy as np
import pytest
import torch
import transformers
from tests.integrations.tiny import save_bert, save_t5, save_vit
from tests.train.quality.models.readings import dense, eager, save_llama_that_writes

import attncost as ac
from attncost.cli import main
from attncost.integrations.pretrained import demo_folder

LINES = [
    "It is a truth universally acknowledged, that a single man must be in want of a wife.",
    "However little known his feelings may be on his first entering a neighbourhood.",
    "</script><b>Mr. Bennet</b> replied that he had not; \N{SNOWMAN} but it is, returned she.",
    "",
    "An invitation to dinner was soon afterwards dispatched, and an answer arrived.",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    saved = {"bert": save_bert, "llama": save_llama_that_writes, "t5": save_t5, "vit": save_vit}
    made = {name: save(home / name) for name, save in saved.items()}
    made["bare_t5"] = save_t5(home / "bare_t5")
    for file in made["bare_t5"].glob("*token*"):
        file.unlink()
    return made


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(LINES), encoding="utf-8")


@pytest.fixture
def made(folders, capsys):
    def run(model, *arguments):
        assert main(["quality", str(folders.get(model, model)), *arguments, "--json"]) == 0
        captured = capsys.readouterr()
        assert captured.err == "", "no bar where there is no terminal"
        return json.loads(captured.out)

    return run


def test_real_vectors_move_as_a_dense_mask_moves_them(made):
    narrow = ac.Window(5, ahead=2)
    found = made(
        "demo", "--text", "text.txt", "--attention", "window:width=5,ahead=2", "--by-layer", "none"
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo_folder())
    model = transformers.AutoModel.from_pretrained(demo_folder(), dtype=torch.float32).eval()
    vectors = []
    for pattern in (ac.Full(), narrow):
        texts = [tokenizer(line)["input_ids"] for line in LINES if line]
        masks = [dense(pattern, len(text), causal=False) for text in texts]
        states = [
            eager(model, text, mask).last_hidden_state[0].mean(0).double().numpy()
            for text, mask in zip(texts, masks, strict=True)
        ]
        vectors.append(np.stack([one / np.linalg.norm(one) for one in states]))
    cosines = (vectors[0] * vectors[1]).sum(1)
    (one,) = found["compared"]["swapped"]
    assert one["vectors"]["cosine"]["value"] == pytest.approx(cosines.mean(), abs=1e-5)
    assert one["vectors"]["worst"] == pytest.approx(cosines.min(), abs=1e-5)
    row = found["tables"][0]["rows"][0]
    assert (row[0], row[2]) == ("window 5", one["vectors"]["cosine"]["value"])
    assert found["compared"]["alone"] == []
    assert "1 line blank." in found["compared"]["described"]


def test_a_model_that_writes_is_judged_by_nats_and_its_page_holds_no_text(made, tmp_path):
    found = made("llama", "--text", "text.txt", "--passages", "--length", "12", "-o", "page.html")
    names = [one["attention"] for one in found["compared"]["swapped"]]
    assert "linear:feature_map=elu,causal=1" in names
    assert found["compared"]["refused"] == []
    tokens = found["compared"]["swapped"][0]["tokens"]
    titles = [table["title"] for table in found["tables"]]
    lengths = found["tables"][titles.index("Nats of a token, by how many were read before it")]
    assert lengths["rows"][0][2] == tokens["buckets"][0]["was"]
    page = (tmp_path / "page.html").read_text()
    assert "Bennet" not in page
    assert found["command"].startswith("attncost quality ")


@pytest.mark.slow  # 15 rounds of three attentions
def test_time_is_told_of_all_that_was_swapped_in_and_of_what_needs_a_length(made):
    listed = "full,window:width=3,ahead=1,linformer:rank=8"
    beside = ("--texts", "3", "--by-layer", "none", "--time")
    found = made("bert", "--text", "text.txt", "--attention", listed, *beside)
    assert [*found["times"]] == [one["attention"] for one in found["compared"]["swapped"]]
    assert len(found["times"]) == 3
    (cost,) = [table for table in found["tables"] if table["title"] == "Cost"]
    shown = [row[4:7] for row in cost["rows"]]
    assert shown == [[one["figure"], one["low"], one["high"]] for one in found["times"].values()]
    # The model does more than attend, and what reads as much takes about as long.
    assert all(0.2 < figure < 5 for figure, _, _ in shown)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bert", "--texts", "0"], "--texts must be at least 1, got 0."),
        (["bert", "--length", "900"], "has positions for 24 tokens"),
        (["bert", "--text", "empty.txt"], "holds no text"),
        (["bert", "--text", "gone.txt"], "gone.txt cannot be read"),
        (["bert", "--attention", "windw"], "did you mean 'window'?"),
        (["bert", "--attention", "nystrom"], "nystrom"),
        (["llama", "--attention", "linear"], "use a pattern for this layer"),
        (["vit"], "reads images, and what changes is measured on texts"),
        (["t5"], "reads one text and writes another"),
        (["bare_t5"], "reads one text and writes another"),
        (["layer:d_model=32,heads=2"], "random weights"),
        (["llama-3-8b"], "no weights here"),
    ],
)
def test_mistakes_are_one_line(arguments, line, folders, tmp_path, capsys):
    name, *options = arguments
    (tmp_path / "empty.txt").write_text("\n \n")
    assert main(["quality", str(folders.get(name, name)), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert line in captured.err
    assert captured.err.count("\n") == 1


def test_a_model_that_cannot_be_swapped_is_one_line(tmp_path, capsys):
    (tmp_path / "their_own.py").write_text(
        "import torch\n"
        "class Odd(torch.nn.Module):\n"
        "    def forward(self, input_ids):\n"
        "        return input_ids\n"
        "def odd():\n"
        "    return Odd(), {'input_ids': torch.arange(8)[None]}\n"
    )
    assert main(["quality", "their_own:odd"]) == 2
    assert "has no layer that asks transformers" in capsys.readouterr().err
    assert main(["quality", "their_own:odd", "--text", "text.txt"]) == 2
    assert "brings its own inputs: leave --text out" in capsys.readouterr().err


def test_one_text_is_compared_without_neighbours(made, tmp_path):
    (tmp_path / "one.txt").write_text("the cat sat on the mat")
    found = made("bert", "--text", "one.txt")
    assert all(one["vectors"]["nearest"] is None for one in found["compared"]["swapped"])
    assert found["compared"]["apart"] is None
    tables = {table["title"]: table for table in found["tables"]}
    assert "Neighbours" not in tables
    quality = tables["Quality beside cost"]
    assert [column["title"] for column in quality["columns"]] == [
        *("attention", "FLOPs", "cosine", "worst")
    ]
