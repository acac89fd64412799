"""The page about the articles, for the tests of its rows."""

from tests.docs.pages import ROOT
from torch.utils.flop_counter import FlopCounterMode

PAGE = "docs/articles.md"


def said(text):
    """Say whether the page prints this number."""
    return text in (ROOT / PAGE).read_text()


def counted(call):
    """Count FLOPs with PyTorch's own counter."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()
