import re
import tomllib
from dataclasses import replace

import pytest

from attncost.core.errors import ShapeError, StorageError
from attncost.cost.difference import FIELDS, Own
from attncost.cost.lock import Locked
from attncost.cost.lock_file import read_lock, write_lock


def model(**totals):
    return Locked(
        setting={"length": 16, "batch": 1, "training": False},
        totals=dict.fromkeys(FIELDS, 7) | {"dense": 30} | totals,
        modules={
            f"layers.{i}.q": Own(kind="Linear", parameters=3, dense=15, useful=10, bytes=9)
            for i in range(11)
        },
        unpriced={"my::op in layers.0": 2},
        at_most=("a mask has no values",),
        settings={"sliding_window": 64, "layer_types": ["sliding", "full"], "scale": 0.5},
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("schema = ", "is not TOML"),
        ('schema = "attncost.lock/9"', "must begin with schema = 'attncost.lock/1'"),
        ("", "must begin with schema"),
        ('schema = "attncost.lock/1"\n[models.a]\nx = 3', "is damaged"),
        ('schema = "attncost.lock/1"\n[models]\na = 3', r"models\.a must be a table, got 3"),
        ('schema = "attncost.lock/1"\nmodels = 3', "models must be a table, got 3"),
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


@pytest.mark.parametrize(
    ("line", "damage", "reason"),
    [
        ("length = 16", 'length = "x"', "setting.length must be a whole number from 0, got 'x'"),
        ("length = 16", "length = true", "setting.length must be a whole number from 0, got True"),
        ("length = 16", "lenght = 16", "setting.lenght is unknown"),
        ("training = false", "training = 0", "setting.training must be true or false, got 0"),
        ("training = false", "", "setting.training is missing"),
        ("dense = 30", "dense = 30.5", "totals.dense must be a whole number from 0, got 30.5"),
        ("dense = 30", "dense = -1", "totals.dense must be a whole number from 0, got -1"),
        ("dense = 30", "", "totals.dense is missing"),
        ('torch = "2.13.0"', "torch = 2", "versions.torch must be text, got 2"),
        ("parameters = 3", "parameters = []", '"layers.0.q".parameters must be a whole number'),
        ('kind = "Linear", ', "", '"layers.0.q".kind is missing'),
        ("[models.a.modules]", "[models.a.parts]", "models.a.modules is missing"),
        ('at_most = ["a mask has no values"]', "at_most = 3", "at_most must be a list, got 3"),
        ('at_most = ["a mask has no values"]', "at_most = [3]", "at_most must be text, got 3"),
        ('in layers.0" = 2', 'in layers.0" = "2"', "must be a whole number from 0, got '2'"),
    ],
)
def test_the_key_that_somebody_damaged_is_named(line, damage, reason, tmp_path):
    path = tmp_path / "cost.lock"
    write_lock(path, {"a": model()})
    whole = path.read_text()
    assert line in whole
    path.write_text(whole.replace(line, damage, 1))
    with pytest.raises(ShapeError, match=re.escape(reason)) as caught:
        read_lock(path)
    assert "cost.lock is damaged: models.a" in str(caught.value)
    assert "\n" not in str(caught.value)
