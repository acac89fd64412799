"""Attention by one kernel; what it refuses in words is skipped, so that no test asks it again."""

import pytest

from attncost import UnsupportedOption, attention


def attend(kernel, *args, **options):
    try:
        return attention(*args, kernel=kernel, **options)
    except UnsupportedOption as refusal:
        pytest.skip(str(refusal))
