import pytest
import torch

from attncost.measure.clocks.threads import threads


def test_threads_are_given_and_put_back_also_after_an_exception():
    before, seen = torch.get_num_threads(), []

    def interrupted():
        with threads(3):
            seen.append(torch.get_num_threads())
            with threads(1):
                seen.append(torch.get_num_threads())
            seen.append(torch.get_num_threads())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert seen == [3, 1, 3]
    assert torch.get_num_threads() == before
