import json

import huggingface_hub
import pytest

from attncost.core.errors import UnknownName, UnsupportedOption
from attncost.cost.reading import preset
from attncost.integrations.sizes import sized

SETTINGS = {
    "model_type": "bert",
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 9,
    "max_position_embeddings": 16,
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def test_every_kind_of_name_has_sizes(folder):
    assert sized("llama-3-8b").configuration == preset("llama-3-8b")
    assert sized("layer:heads=4,d_model=32").name == "layer:d_model=32,heads=4"
    assert sized("demo").configuration.longest == 512
    whole, file = sized(f"{folder}/"), sized(str(folder / "config.json"))
    assert whole.name == str(folder)
    assert whole.configuration == file.configuration


@pytest.mark.parametrize("name", ["demo", "gpt2", "layer", "layer:heads=2"])
def test_a_folder_that_is_called_like_something_else_keeps_a_name_of_its_own(
    name, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    (folder / "config.json").rename(tmp_path / name / "config.json")
    found = sized(f"./{name}/")
    assert found.name == f"./{name}"
    assert sized(found.name).configuration == found.configuration != sized(name).configuration


def test_a_model_in_the_cache_is_found_by_its_name(folder, monkeypatch):
    def found(name, file):
        return str(folder / file) if name == "somebody/small" else None

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", found)
    assert sized("somebody/small").configuration.name == "somebody/small"
    with pytest.raises(UnknownName, match="'somebody/other'"):
        sized("somebody/other")


def test_what_has_no_sizes_is_refused():
    with pytest.raises(UnsupportedOption, match="names a function, and sizes are needed"):
        sized("package.module:factory")
    with pytest.raises(UnknownName, match="called ''"):
        sized("")
