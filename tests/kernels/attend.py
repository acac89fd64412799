"""Attention by one kernel; what it refuses in words is skipped, so that no test asks it again."""

import pytest
import torch

from attncost import UnsupportedOption, attention, kernels


def attend(kernel, *args, **options):
    try:
        return attention(*args, kernel=kernel, **options)
    except UnsupportedOption as refusal:
        pytest.skip(str(refusal))


def takes(kernel, **options):
    """Say whether a kernel takes a small call on the CPU, so that it need not be asked often."""
    small = torch.zeros(1, 1, 2, 2)
    try:
        attention(small, small, small, kernel=kernel, **options)
    except UnsupportedOption:
        return False
    return True


DOCUMENT = torch.zeros(1, 2, dtype=torch.long)
PLAIN = [name for name in kernels.names() if takes(name)]
DOCUMENTS = [name for name in kernels.names() if takes(name, segments=DOCUMENT)]
ELSEWHERE = [name for name in kernels.names() if name not in {*PLAIN, *DOCUMENTS}]

# Those that run on a CPU, without and with segments.
every_plain_kernel = pytest.mark.parametrize("kernel", PLAIN)
every_kernel = pytest.mark.parametrize("kernel", list(dict.fromkeys([*PLAIN, *DOCUMENTS])))
