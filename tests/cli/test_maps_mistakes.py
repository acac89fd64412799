"""What `attncost maps` refuses: in one line, before anything long, and with the next step."""

import pytest
from tests.integrations.tiny import save_bert

from attncost.cli import main


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return str(save_bert(tmp_path_factory.mktemp("models") / "bert"))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cat sat")
    (tmp_path / "blank.txt").write_text(" \n")
    (tmp_path / "mine_to_miss.py").write_text("import torch\nmine = lambda: torch.nn.Linear(2, 2)")


@pytest.fixture
def refused(tmp_path, capsys):
    """Return the one line of a mistake, after which nothing was left behind."""

    def run(*arguments):
        before = sorted(tmp_path.iterdir())
        assert main(["maps", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("attncost: ")
        assert [path for path in sorted(tmp_path.iterdir()) if path.suffix == ".html"] == []
        assert {*before} <= {*tmp_path.iterdir()}
        return line

    return run


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["llama-3-8b"], "has no weights here, so there is nothing to see"),
        (["layer"], "has random weights, and what those attend to means nothing"),
        (["dmo"], "did you mean 'demo'?"),
        (["demo", "--text", "none.txt"], "none.txt cannot be read (No such file"),
        (["demo", "--text", "blank.txt"], "blank.txt holds no text: give a file with a text."),
        (["demo", "--text", "blank.txt", "--lines"], "give a file with a document on each line."),
        (["demo", "--length", "1"], "--length must be at least 2: the tokenizer adds 2 tokens"),
        (["demo", "--length", "1", "--lines"], "--length must be at least 2: the tokenizer adds"),
        (["demo", "--length", "0"], "--length must be at least 1, got 0"),
        (["demo", "--length", "513"], "positions for 512 tokens, got --length 513"),
        (["demo", "--image", "cat.png"], "demo reads text, no images: leave --image out"),
        (["demo", "--image", "a.npy", "--lines"], "a text or an image: leave --image, or --lines"),
        (["demo", "--image", "a.npy", "--length", "5"], "leave --image, or --length, out"),
        (["demo", "--image", "a.npy", "--text", "text.txt"], "leave --image, or --text, out"),
        (["demo", "--layers", "1-x"], "--layers must be numbers, as in 0,3-5, got '1-x'"),
        (["demo", "--layers", ""], "--layers must be numbers, as in 0,3-5, or a name, as in"),
        (["demo", "--layers", "-1-x"], "--layers must be numbers, as in 0,3-5, got '-1-x'"),
        (["demo", "--heads", "4-2"], "--heads must be numbers that increase"),
        (["demo", "--heads", ""], "--heads must be numbers, as in 0,3-5, got ''"),
        (["demo", "--query", "3"], "--query marks a token in a picture: add --svg FILE"),
        (["demo", "--svg", "a.svg"], "--svg shows one head: name it, such as --layers 3 --heads 7"),
        (["demo", "--png", "a.png", "--layers", "3", "--heads", "1,2"], "--png shows one head"),
        (
            ["demo", "--layers", "3", "--heads", "1", "--svg", "a.html", "-o", "./a.html"],
            "-o and --svg both write a.html: choose another for --svg.",
        ),
        (["demo", "-o", "no/folder/a.html"], "no/folder/a.html cannot be written (No such file"),
        (
            ["demo", "--svg", "no/a.svg", "--layers", "0", "--heads", "0"],
            "no/a.svg cannot be written (No such file or directory): choose another with --svg",
        ),
        (["mine_to_miss:mine", "--lines"], "brings its own inputs: leave --lines out"),
        (["mine_to_miss:mine", "--text", "text.txt"], "brings its own inputs: leave --text out"),
        (["mine_to_miss:yours"], "no function in mine_to_miss is called 'yours'"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, refused):
    assert reason in refused(*arguments)


def test_a_layer_or_head_that_is_not_there_is_refused(bert, refused):
    text = ("--text", "text.txt")
    assert "layers must be numbers from -2 to 1" in refused(bert, *text, "--layers", "2")
    assert "no attention layer" in refused(bert, *text, "--layers", "decoder.*")
    assert "has no head 7" in refused(bert, *text, "--heads", "7")


def test_a_module_without_attention_is_told_so(tmp_path, refused):
    (tmp_path / "flat.py").write_text(
        "import torch\ndef flat():\n    return torch.nn.Linear(2, 2), torch.zeros(1, 3, 2)\n"
    )
    assert "attention" in refused("flat:flat")


def test_more_than_a_page_holds_is_refused_with_what_would_fit(bert, refused, monkeypatch):
    monkeypatch.setattr("attncost.view.maps.header.size.MOST", 100)
    line = refused(bert, "--text", "text.txt")
    for word in ("fewer layers", "heads", "tokens"):
        assert word in line


def test_a_page_that_was_there_stays_when_the_model_fails(bert, tmp_path, capsys):
    (tmp_path / "page.html").write_text("mine")
    assert main(["maps", bert, "--text", "text.txt", "--layers", "9", "-o", "page.html"]) == 2
    assert (tmp_path / "page.html").read_text() == "mine"


def test_ctrl_c_ends_with_130_and_leaves_no_page(bert, tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("attncost.view.capture.capture.capture", interrupted)
    assert main(["maps", bert, "--text", "text.txt"]) == 130
    assert capsys.readouterr().err == "attncost: interrupted.\n"
    assert not (tmp_path / "attncost-maps.html").exists()
