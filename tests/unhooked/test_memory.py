import subprocess
import sys

import pytest
import torch
from torch import nn

from attncost import ShapeError
from attncost.cost.memory.memory import memory

# Of what torch.compile imports.
pytestmark = pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")


def test_compiled_code_runs_as_it_was_written_and_that_is_said():
    module, x = nn.Sequential(nn.Linear(8, 8), nn.GELU()), torch.randn(4, 8)
    plain, compiled = (
        memory(module, x, training=True),
        memory(torch.compile(module), x, training=True),
    )
    assert (compiled.by_part, compiled.kept) == (plain.by_part, plain.kept)
    assert (plain.exact, compiled.exact) == (True, False)
    assert "compiled code runs here as it was written" in compiled.at_least[0]


def test_what_is_no_module_and_no_optimizer_is_refused_in_words():
    with pytest.raises(ShapeError, match="must be a module or a function, got 3"):
        memory(3)
    with pytest.raises(ShapeError, match=r"such as torch.optim.AdamW, got 'adamw'"):
        memory(nn.Linear(3, 3), torch.randn(2, 3), training=True, optimizer="adamw")


def test_the_last_declaration_of_scratch_counts_in_a_fresh_process():
    code = (
        "import torch, attncost as ac\n"
        "@ac.scratch('aten::mm')\n"
        "def mm(*_, out): return 1 << 20\n"
        "x = torch.empty(4, 4)\n"
        "print(ac.memory(lambda a: a @ a, x).peak >> 20)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
