"""What is read is bounded, whatever a file says of its own size."""

from pathlib import Path

import pytest

from attncost.core.errors import StorageError
from attncost.core.files import content

ENDLESS = Path("/proc/self/smaps")


@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a file that says it is empty and is not")
def test_a_file_that_says_it_is_empty_is_read_no_further_than_the_bound():
    assert ENDLESS.stat().st_size == 0
    with pytest.raises(StorageError, match=r"more than 1,000 bytes\): give another"):
        content(ENDLESS, most=1000, give="give another")
