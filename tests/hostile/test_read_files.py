"""Files that are not what an option reads: each is refused before anything long begins."""

import os
import tracemalloc

import pytest
from tests.hostile.answered import refusal
from tests.hostile.commands import READ_FILES

from attncost.core.errors import StorageError
from attncost.core.files import content, words

MANY = 1 << 34  # bytes of a file that takes no room on the disk


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with one of each, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "binary").write_bytes(b"\xff\x00\xfe" * 100)
    (tmp_path / "empty").write_bytes(b"")
    with (tmp_path / "vast").open("wb") as file:
        file.truncate(MANY)
    return tmp_path


KINDS = ["gone", "pipe", "folder", "loop", "endless", "binary", "empty", "vast", "n" * 5000, "a\0b"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.replace("\0", "0")[:8])
@pytest.mark.parametrize("option", READ_FILES, ids=str)
def test_what_is_no_such_file_is_refused(option, kind, place, capsys):
    if (str(option), kind) == ("check --lock", "gone"):
        pytest.skip("a lock that is not there is written")
    before = sorted(place.iterdir())
    refusal(option.words(kind), capsys)
    assert sorted(place.iterdir()) == before


def test_options_that_read_are_found():
    assert {"maps --text", "plan --calibration", "check --lock"} <= set(map(str, READ_FILES))


def test_a_vast_file_is_refused_without_being_read(place):
    tracemalloc.start()
    with pytest.raises(StorageError, match=r"vast cannot be read \(it has more than 1,000 bytes"):
        content(place / "vast", most=1000, give="give another")
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_lines_end_alike_and_a_mark_of_the_byte_order_is_no_text(tmp_path):
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert words(tmp_path / "text", most=100, give="give another") == "a\nb\nc\n"
