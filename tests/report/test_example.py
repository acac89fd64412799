import pytest

from attncost.core.errors import StorageError
from attncost.report.example import example_text, lines


def test_the_example_is_there_and_its_lines_are_of_real_lengths():
    found = lines(example_text())
    words = sorted(len(line.split()) for line in found)
    assert len(found) == 384
    assert words[-1] > 5 * words[len(words) // 2], "a few long lines make padding dear"


def test_a_text_that_cannot_be_read_or_holds_nothing_is_refused(tmp_path):
    with pytest.raises(StorageError, match="cannot be read as UTF-8 text"):
        lines(tmp_path / "missing.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match="cannot be read as UTF-8 text"):
        lines(tmp_path / "binary")
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(StorageError, match="holds no text"):
        lines(tmp_path / "empty")
