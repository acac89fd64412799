"""`attncost plan MODEL --text FILE`, against numbers that are written out by hand."""

import json
import logging
import shutil

import pytest
from tests.measure.speed.machine import machine

from attncost.cli import main
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation
from attncost.cost.reading import preset
from attncost.integrations.pretrained import demo_folder

LAYER = "layer:d_model=16,heads=2"
WORDS = [3, 3, 3, 9, 1, 3, 3, 9]
KINDS = {"padded", "bucketed", "budgeted", "packed", "stepped"}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n\n".join(" ".join("w" * n) for n in WORDS) + "\n")
    return str(path)


@pytest.fixture
def planned(capsys, text):
    """Return a plan for the text as JSON, checked to end with a status."""

    def run(*arguments, status=0):
        assert main(["plan", *arguments, "--text", text, "--json"]) == status
        return json.loads(capsys.readouterr().out)

    return run


def rows(found, title):
    (table,) = (table for table in found["tables"] if table["title"].startswith(title))
    return [
        dict(zip([c["title"] for c in table["columns"]], row, strict=True)) for row in table["rows"]
    ]


def test_every_way_is_compared_with_batches_at_random(planned):
    found = planned(LAYER, "--batch", "8")
    assert found["schema"] == "attncost.plan_text/1"
    usual, *ways = rows(found, "Ways to batch lines.txt")
    assert usual["way"] == "padded (size 8) at random"
    tokens, pairs = sum(WORDS), sum(n**2 for n in WORDS)
    assert usual["padding"] == pytest.approx(1 - tokens / (8 * 9))
    assert usual["pairs"] == pytest.approx(8 * 81 / pairs)
    # A layer multiplies four matrices of 16 x 16 for a slot, and each pair twice in 16 features.
    assert usual["executed"] == 8 * 9 * 8 * 16**2 + 8 * 81 * 4 * 16
    assert found["useful"] == tokens * 8 * 16**2 + pairs * 4 * 16
    packed = next(
        row for row in ways if row["way"].startswith("packed") and "mask" not in row["way"]
    )
    assert (packed["padding"], packed["pairs"]) == (0, 1)
    assert packed["executed"] == found["useful"]
    assert [row["of usual"] for row in ways] == sorted(row["of usual"] for row in ways)
    assert len({row["way"] for row in ways}) == len(ways) >= 5


def test_lines_are_told_with_what_is_odd_about_them(text, capsys):
    assert main(["plan", LAYER, "--text", text]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "8 lines of 1 to 9, median 3, together 34" in printed
    assert "1 of 8 texts is of one word:" in printed
    assert "7 lines of the file are blank" in printed
    assert "attncost measure --calibrate -o FILE" in printed, "nothing is known of a machine"


# Weights of 16 bits alone are 15 GiB.
@pytest.mark.parametrize(
    ("how", "status"), [([], 0), (["--memory", "H100"], 0), (["--memory", "8GiB"], 1)]
)
def test_a_terminal_of_80_columns_is_enough(how, status, text, capsys):
    assert main(["plan", "llama-3-8b", "--text", text, *how]) == status
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_gpu_says_the_seconds_and_memory_the_largest_batch(planned):
    found = planned("bert-base", "--memory", "H100")
    assert "H100" in found["machine"]
    for row in rows(found, "Ways to batch"):
        assert row["time"] > 0
    for row in rows(found, "Memory of the largest batch"):
        assert row["memory"] < found["memory"]
        assert row["fit"] >= row["largest"]
    single = planned("bert-base", "--memory", "H100", "--for", "training")
    (prefill, *_), (training, *_) = (rows(one, "Memory of the largest") for one in (found, single))
    assert training["memory"] > 2 * prefill["memory"]


def held(way, slots):
    """Return the bytes of bert-base and one batch of so many slots."""
    packs, masked = way.startswith("packed"), way.endswith("dense mask")
    rows, width = (1, slots) if packs else (slots // max(WORDS), max(WORDS))
    how = Situation(kernel="fused") if packs and not masked else Situation()
    mask = width**2 if masked else 0
    return total(needs(preset("bert-base"), how, length=width, batch=rows)) + mask


def test_more_slots_fit_into_more_memory_and_one_more_row_does_not(planned):
    small, large = (
        {row["way"]: row["fit"] for row in rows(found, "Memory of the largest")}
        for found in (planned("bert-base", "--memory", size) for size in ("1GiB", "4GiB"))
    )
    assert small.keys() == large.keys()
    assert {way.partition(" ")[0] for way in small} == KINDS
    for memory, found in ((1 << 30, small), (4 << 30, large)):
        for way, fit in found.items():
            more = 1 if way.startswith("packed") else max(WORDS)
            assert held(way, fit) <= memory < held(way, fit + more), way
    assert all(small[way] < large[way] for way in small)


def test_where_not_even_the_longest_line_fits_the_answer_is_no(planned):
    found = planned("llama-3-8b", "--memory", "1GiB", status=1)
    (fits,) = (one for one in found["findings"] if one["key"] == "fits")
    assert "No batch fits into 1.00 GiB" in fits["text"]
    assert rows(found, "Memory of the largest batch")


def test_a_calibration_foretells_the_time_of_every_way(planned, tmp_path):
    file = tmp_path / "here.json"
    file.write_text(json.dumps(machine().as_dict()))
    curves = planned(LAYER, "--calibration", str(file), "--time")
    rates = planned(LAYER, "--calibration", str(file))
    assert all(way["seconds"] > 0 for found in (curves, rates) for way in found["ways"])
    assert curves["machine"] != rates["machine"]
    fastest = curves["ways"][0]["seconds"]
    assert fastest == min(way["seconds"] for way in curves["ways"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([LAYER, "--length", "8k"], "--length says nothing of a text that is batched"),
        ([LAYER, "--pattern", "causal"], "--pattern says nothing of a text"),
        ([LAYER, "--gpus", "2"], "--gpus says nothing of a text"),
        ([LAYER, "--batch", "0"], "--batch must be at least 1, got 0"),
        ([LAYER, "--for", "decode"], "leave --for decode or --text out"),
        ([LAYER, "--for", "decoding"], "no work is called 'decoding'"),
        ([LAYER, "--batch", f"{10**20}"], "--batch must be at most 1,073,741,824 lines"),
        ([LAYER, "--memory", ""], "--memory must be a size, such as 80GiB, or a GPU's name"),
        ([LAYER, "--for", "prefill", "--for", "training"], "one work at a time"),
        ([LAYER, "--checkpointing"], "add --for training"),
        ([LAYER, "--time"], "--time needs to know this machine"),
        ([LAYER, "--measure"], "has no weights or no tokenizer here"),
        (["demo", "--measure", "--for", "training"], "--measure times forward passes"),
        (["vit-b-16"], "reads images, no text: leave --text out"),
        (["llama-3-9b"], "did you mean 'llama-3-8b'"),
        (["package.module:factory"], "package"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, text, capsys):
    assert main(["plan", *arguments, "--text", text]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line


def test_a_text_that_cannot_be_read_is_refused(tmp_path, capsys):
    assert main(["plan", LAYER, "--text", str(tmp_path / "none.txt")]) == 2
    assert "none.txt cannot be read (No such file" in capsys.readouterr().err
    assert main(["plan", LAYER, "--memory", "8GiB", "--measure"]) == 2
    assert "add --text FILE" in capsys.readouterr().err


@pytest.fixture
def small(tmp_path):
    """Save a small model of random weights with the tokenizer of the demo."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "small"
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(
        vocab_size=30_522, intermediate_size=32, max_position_embeddings=16, **sizes
    )
    transformers.BertModel(config).save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        if (demo_folder() / name).is_file():
            shutil.copy(demo_folder() / name, folder)
    return str(folder)


def test_the_python_that_is_printed_makes_batches_that_the_model_takes(small, text, capsys):
    transformers = pytest.importorskip("transformers")
    assert main(["plan", small, "--text", text]) == 0
    _, _, printed = capsys.readouterr().out.partition("How to write it\n")
    code, *_ = printed.partition("The collator")
    assert code.startswith("import attncost as ac\nway = ac.batches.Packed(")
    scope = {"model": transformers.BertModel.from_pretrained(small)}
    exec(code, scope)
    batch = scope["collator"]([[5, 6, 7], [8, 9]])
    assert batch["input_ids"].tolist() == [[5, 6, 7, 8, 9]]
    assert scope["model"](**batch).last_hidden_state.shape == (1, 5, 16)


def test_measured_times_stand_beside_predicted_ones(small, text, capsys):
    assert main(["plan", small, "--text", text, "--batch", "4", "--measure", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert captured.err == ""
    usual, *others = found["measured"]
    assert usual["name"] == "padded (size 4) at random"
    assert usual["ratio"]["figure"] == 1
    assert usual["predicted"] == 1
    assert usual["tokens"] == sum(min(n + 2, 16) for n in WORDS), "with the marks of the tokenizer"
    assert {one["name"].partition(" ")[0] for one in others} >= {"packed", "bucketed", "budgeted"}
    for one in found["measured"]:
        assert one["ratio"]["low"] <= one["ratio"]["figure"] <= one["ratio"]["high"]
        assert one["seconds"] > 0
    assert found["findings"][-1]["key"] == "measured_batching"
    assert rows(found, "Measured time of 8 lines")


def test_what_transformers_has_to_say_while_it_is_timed_is_no_output(small, text, monkeypatch):
    transformers = pytest.importorskip("transformers")
    said, forward = [], transformers.BertModel.forward
    logger = transformers.utils.logging.get_logger("transformers")
    listener = logging.Handler()
    listener.emit = said.append

    def warning(self, *inputs, **options):
        logger.warning("this is deprecated")
        return forward(self, *inputs, **options)

    monkeypatch.setattr(transformers.BertModel, "forward", warning)
    logger.addHandler(listener)
    try:
        assert main(["plan", small, "--text", text, "--batch", "4", "--measure", "--json"]) == 0
    finally:
        logger.removeHandler(listener)
    assert said == []
