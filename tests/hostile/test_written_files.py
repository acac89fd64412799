"""Places that must not be written: links, devices, folders, what is read; nothing there changes."""

import os

import pytest
from tests.hostile.answered import refusal
from tests.hostile.commands import WRITTEN_FILES

from attncost.core.errors import StorageError
from attncost.core.files import check_place, put


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with one of each, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious").write_text("precious")
    for form in ("csv", "html"):
        os.mkfifo(f"pipe.{form}")
        (tmp_path / f"folder.{form}").mkdir()
        (tmp_path / f"link.{form}").symlink_to("precious")
        (tmp_path / f"dangling.{form}").symlink_to("nothing")
        (tmp_path / f"full.{form}").symlink_to("/dev/full")
    return tmp_path


KINDS = ["pipe", "folder", "link", "dangling", "full", "no/parent", "n" * 5000]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[:8])
@pytest.mark.parametrize("option", WRITTEN_FILES, ids=str)
def test_a_place_that_must_stay_is_refused(option, kind, place, capsys):
    before = sorted(place.iterdir())
    form, more = ("csv", ["--force"]) if option.command == "export" else ("html", [])
    assert "cannot be" in refusal([*option.words(f"{kind}.{form}"), *more], capsys)
    assert sorted(place.iterdir()) == before
    assert (place / "precious").read_text() == "precious"
    assert (place / "link.html").is_symlink()


def test_options_that_write_are_found():
    known = {"report --output", "maps --svg", "fit --chart", "profile --trace", "export --output"}
    assert known <= set(map(str, WRITTEN_FILES))


@pytest.mark.parametrize(
    "words",
    [
        ["maps", "demo", "--text", "in.txt", "-o", "in.txt"],
        ["maps", "demo", "--text", "in.txt", "-o", "./in.txt"],
        ["report", "demo", "--text", "in.txt", "-o", "in.txt"],
        ["quality", "demo", "--text", "in.txt", "-o", "in.txt"],
        ["fit", "in.txt", "--d-model", "8", "--chart", "in.txt"],
        ["report", "in.txt", "-o", "in.txt"],
        ["report", ".", "-o", "config.json"],
        ["check", ".", "--lock", "config.json", "--write"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("in.txt", "config.json"):
        (tmp_path / name).write_text("length,milliseconds\n")
    assert "is read and would be written over" in refusal(words, capsys)
    assert (tmp_path / words[-1 if words[-1] != "--write" else -2]).read_text().startswith("length")


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path):
    file = tmp_path / "page"
    file.write_text("old")
    file.chmod(0o640)
    put(file, b"new", give="choose another")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [tmp_path / "page"]


def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch):
    file = tmp_path / "page"
    file.write_text("old")

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(StorageError, match=r"page cannot be written \(No space left on device"):
        put(file, b"new", give="choose another")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "page"]


def test_a_look_at_a_place_changes_nothing(tmp_path):
    (tmp_path / "page").write_text("old")
    for name in ("page", "new"):
        check_place(tmp_path / name, give="choose another")
    assert list(tmp_path.iterdir()) == [tmp_path / "page"]
    assert (tmp_path / "page").read_text() == "old"
