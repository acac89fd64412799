import subprocess
from pathlib import Path

from attncost.measure.store.conditions.software import revision, software


def git(folder, *words):
    who = [
        "-c",
        "user.name=nobody",
        "-c",
        "user.email=nobody@invalid",
        "-c",
        "commit.gpgsign=false",
    ]
    ran = subprocess.run(
        ["git", *who, "-C", folder, *words], check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


def test_a_checkout_says_its_commit_and_whether_its_files_differ(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("first")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "beside").write_text("not ours")
    assert revision(tmp_path) == {"git_revision": head, "git_dirty": False}
    (tmp_path / "file").write_text("second")
    assert revision(tmp_path) == {"git_revision": head, "git_dirty": True}
    (tmp_path / "inside").mkdir()
    assert revision(tmp_path / "inside") == {"git_revision": None, "git_dirty": None}


def test_without_commits_or_without_git_there_is_no_revision(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    unknown = {"git_revision": None, "git_dirty": None}
    assert revision(tmp_path) == unknown
    monkeypatch.setenv("PATH", "")
    assert revision(tmp_path) == unknown


def test_the_checkout_is_that_of_attncost():
    root = Path(__file__).parents[4]
    assert (root / "src" / "attncost").is_dir()
    found = software()
    assert found["git_revision"] == revision(root)["git_revision"]
    assert {"python", "numpy", "attncost", "platform", "transformers"} <= set(found)
