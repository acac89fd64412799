import tomllib
from dataclasses import replace

import pytest

from attncost.core.errors import ShapeError, StorageError
from attncost.cost.difference import Own
from attncost.cost.lock import Locked, compare, read_lock, write_lock


def model(**totals):
    return Locked(
        setting={"length": 16, "batch": 1, "training": False},
        totals={"parameters": 6, "dense": 30, "useful": 20, "executed": 30, "bytes": 99} | totals,
        modules={
            f"layers.{i}.q": Own(kind="Linear", parameters=3, dense=15, useful=10, bytes=9)
            for i in range(11)
        },
        unpriced={"my::op in layers.0": 2},
        versions={"torch": "2.13.0"},
    )


def test_what_was_written_is_read_again(tmp_path):
    path = tmp_path / "cost.lock"
    models = {"layer:d_model=512,heads=8": model(), 'odd "name" [ä]\\': model(dense=31)}
    write_lock(path, models)
    assert read_lock(path) == models
    assert [file.name for file in tmp_path.iterdir()] == ["cost.lock"], "nothing is left beside it"


def test_a_module_is_one_line_and_layers_stand_in_order(tmp_path):
    path = tmp_path / "cost.lock"
    write_lock(path, {"b": model(), "a": model()})
    lines = [line for line in path.read_text().splitlines() if ".q" in line]
    assert [line.split('"')[1] for line in lines] == 2 * [f"layers.{i}.q" for i in range(11)]
    assert path.read_text().index("[models.a.") < path.read_text().index("[models.b.")
    assert tomllib.loads(path.read_text())["schema"] == "attncost.lock/1"
    grown = replace(model(), modules=model().modules | {"layers.11.q": Own(kind="Linear", dense=1)})
    before = path.read_text().splitlines()
    write_lock(path, {"b": grown, "a": model()})
    assert len(set(path.read_text().splitlines()) ^ set(before)) == 1


def test_nothing_is_left_of_a_lock_that_cannot_be_written(tmp_path):
    path = tmp_path / "cost.lock"
    path.mkdir()
    with pytest.raises(StorageError, match=r"cost\.lock cannot be written"):
        write_lock(path, {"a": model()})
    assert [file.name for file in tmp_path.iterdir()] == ["cost.lock"]


def test_equal_counts_are_equal():
    assert compare(model(), model()).equal


@pytest.mark.parametrize("name", ["parameters", "dense", "useful"])
def test_what_no_library_decides_always_counts(name):
    verdict = compare(model(), replace(model(**{name: 7}), versions={"torch": "2.14.0"}))
    assert verdict.totals == {name: (model().totals[name], 7)}
    assert not verdict.equal


def test_what_a_library_decides_counts_for_the_same_version_of_it():
    modules = {name: replace(own, bytes=8) for name, own in model().modules.items()}
    other = replace(model(bytes=90, executed=31), modules=modules)
    same = compare(model(), other)
    assert same.totals == {"executed": (30, 31), "bytes": (99, 90)}
    assert len(same.changes) == 11
    assert same.left_out is None
    newer = compare(model(), replace(other, versions={"torch": "2.14.0", "transformers": "6.0"}))
    assert newer.equal
    assert "torch 2.13.0, here 2.14.0, transformers -, here 6.0" in newer.left_out


def test_keys_and_values_and_what_has_no_price_count():
    assert compare(model(kv_bytes_per_token=4), model(kv_bytes_per_token=8)).totals == {
        "kv_bytes_per_token": (4, 8)
    }
    verdict = compare(model(), replace(model(), unpriced={}))
    assert verdict.unpriced == {"my::op in layers.0": (2, 0)}
    assert not verdict.equal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("schema = ", "is not TOML"),
        ('schema = "attncost.lock/9"', "must begin with schema = 'attncost.lock/1'"),
        ("", "must begin with schema"),
        ('schema = "attncost.lock/1"\n[models.a]\nx = 3', "is damaged"),
        ('schema = "attncost.lock/1"\n[models]\na = 3', "is damaged"),
    ],
)
def test_what_is_no_lock_is_explained_in_one_line(text, reason, tmp_path):
    (tmp_path / "cost.lock").write_text(text)
    with pytest.raises(ShapeError, match=reason) as caught:
        read_lock(tmp_path / "cost.lock")
    assert "\n" not in str(caught.value)


def test_a_lock_that_is_not_there_is_an_error_of_storage(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        read_lock(tmp_path / "cost.lock")
