"""What a terminal, a page and a pipe get of names and texts that anybody wrote."""

import os
import subprocess
import sys

import pytest
from tests.hostile.answered import refusal

from attncost.cli import main
from attncost.cli._printed import shown

TITLE = "\x1b]0;gone\x07"


CODES = [0, 7, 8, 13, 27, 127, 155, 0x2028, 0x202E, 0x2069, 0xD800]


@pytest.mark.parametrize("letter", [chr(code) for code in CODES], ids=[hex(code) for code in CODES])
def test_what_a_terminal_obeys_is_shown_by_its_code(letter):
    assert shown(f"a{letter}b") == f"a\\u{ord(letter):04x}b"


@pytest.mark.parametrize(
    "text", ["مرحبا", "漢字", "👩\u200d👧", "e\u0301", "line\nline\tcell", "</script>"]
)
def test_every_script_is_left_as_it_is(text):
    assert shown(text) == text


@pytest.mark.parametrize(
    "words",
    [
        ["derive", TITLE],
        ["plan", f"no/{TITLE}", "--memory", "1GiB"],
        ["fit", f"{TITLE}.csv", "--d-model", "8"],
        ["export", TITLE, "-o", "a.csv"],
        ["check", "layer:d_model=8,heads=1", "--lock", TITLE],
    ],
    ids=lambda words: words[0],
)
def test_a_name_that_is_an_escape_sequence_is_refused_by_its_code(words, capsys):
    assert "x1b]0;gone" in refusal(words, capsys).replace("u001b", "x1b")


def test_a_text_whose_name_is_an_escape_sequence_is_planned(tmp_path, capsys):
    file = tmp_path / f"{TITLE}.txt"
    file.write_text("one two three\nfour\n")
    assert main(["plan", "layer:d_model=8,heads=1", "--text", str(file)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\\u001b]0;gone" in said


@pytest.mark.parametrize("more", [["--memory", "2GiB"], ["--memory=2GiB"]], ids=" ".join)
def test_an_option_of_one_value_is_not_taken_twice(more, capsys):
    line = refusal(["plan", "llama-3-8b", "--memory", "1GiB", *more], capsys)
    assert line == "attncost: --memory is given twice: give it once."


def test_an_option_of_many_values_is_taken_twice(capsys):
    words = ["plan", "llama-3-8b", "--memory", "80GiB", "--for", "prefill", "--for", "decode"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "prefill" in said
    assert "decode" in said


def test_a_pipe_that_nobody_reads_ends_the_command_in_silence():
    code = "from attncost.cli import main; raise SystemExit(main())"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        finished = subprocess.run(
            [sys.executable, "-c", code, "derive", "full"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (finished.returncode, finished.stderr) == (141, "")


def test_a_process_without_home_colours_or_letters_answers():
    code = "from attncost.cli import main; raise SystemExit(main())"
    bare = {"PATH": os.environ["PATH"], "LANG": "C", "PYTHONUTF8": "0", "TERM": "dumb"}
    finished = subprocess.run(
        [sys.executable, "-c", code, "derive", "full"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=bare | {"COLUMNS": "20", "PYTHONCOERCECLOCALE": "0"},
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert b"\x1b" not in finished.stdout
