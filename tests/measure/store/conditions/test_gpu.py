import torch

from attncost.measure.store.conditions.gpu import _clock_rate, _driver


def test_the_driver_is_told_by_its_own_file(tmp_path):
    said = tmp_path / "version"
    assert _driver(said) is None
    for kind in ("NVIDIA UNIX x86_64 Kernel Module", "NVIDIA UNIX Open Kernel Module for x86_64"):
        said.write_text(f"NVRM version: {kind}  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC: 12\n")
        assert _driver(said) == "550.54.15"
    said.write_text("nothing of the kind")
    assert _driver(said) is None


def test_without_the_library_that_knows_it_the_rate_of_a_gpu_is_unknown(monkeypatch):
    def missing():
        raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed")

    monkeypatch.setattr(torch.cuda, "clock_rate", missing)
    assert _clock_rate() is None
