import json

import pytest
from tests.measure.speed.machine import machine

from attncost.cli import _calibration
from attncost.core.errors import StorageError
from attncost.measure.speed import calibrate
from attncost.report.calibrated import calibration_document
from attncost.report.text import text


def test_a_file_that_is_there_is_not_written_over_and_nothing_is_measured(tmp_path):
    path = tmp_path / "here.json"
    path.write_text("mine")
    with pytest.raises(StorageError, match=r"here\.json cannot be written"):
        _calibration.calibrated(path, command="attncost measure --calibrate here.json")
    assert path.read_text() == "mine"


def test_an_unwritable_folder_is_found_out_at_once(tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        _calibration.calibrated(tmp_path / "no" / "here.json", command="")


def test_what_is_interrupted_leaves_no_file_behind(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(calibrate, "sampled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _calibration.calibrated(tmp_path / "here.json", command="")
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "here.json"
    path.write_text(json.dumps(machine().as_dict()))
    assert _calibration.calibration_in(path) == machine()
    rates = _calibration.rates_in(path)
    assert (rates.flops, rates.bytes, rates.measured) == (1e9, 1e9, True)


def test_a_calibration_is_told_table_by_table():
    document = calibration_document(machine(), path="here.json", command="attncost measure")
    (finding,) = document.findings
    assert finding.text == (
        "Products reach 1.00 GFLOP/s, copies move 954 MiB a second; all of it is in here.json."
    )
    assert "product nt" in text(document)
