"""The text of an example, and which lines of a file are texts."""

import pytest

from attncost.core.errors import StorageError
from attncost.core.example import example_text
from attncost.report.example import every_line, lines


def test_the_example_is_there_and_its_lines_are_of_real_lengths():
    found = lines(example_text())
    words = sorted(len(line.split()) for line in found)
    assert len(found) == 384
    assert words[-1] > 5 * words[len(words) // 2], "a few long lines make padding dear"


def test_a_text_that_cannot_be_read_or_holds_nothing_is_refused(tmp_path):
    with pytest.raises(StorageError, match=r"missing.txt cannot be read \(No such file"):
        lines(tmp_path / "missing.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match="cannot be read as UTF-8 text"):
        lines(tmp_path / "binary")
    (tmp_path / "zeros").write_bytes(b"one\0two\n")
    with pytest.raises(StorageError, match="zeros is no text, it holds zeros: give a file"):
        lines(tmp_path / "zeros")
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(StorageError, match="holds no text"):
        lines(tmp_path / "empty")
    with pytest.raises(StorageError, match=r"empty holds no text: give another\.$"):
        every_line(tmp_path / "empty", give="give another.")
    (tmp_path / "many").write_text("a\n" * 200_001)
    with pytest.raises(StorageError, match="has 200,001 lines, at most 200,000 are read: give"):
        lines(tmp_path / "many")


@pytest.mark.parametrize("inside", ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_only_the_end_of_a_line_ends_it(inside, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_bytes(f"one{inside}two\r\n\r\nthree\rfour\nfive".encode())
    assert every_line(file) == [f"one{inside}two", "", "three", "four", "five"]
    with file.open("a", encoding="utf-8") as more:
        more.write("\n")
    assert len(every_line(file)) == 5, "the last end begins no line"
