"""Names of many operations, written as running text."""


def aten(text: str) -> list[str]:
    """Return the full names of operations of PyTorch's own library.

    >>> aten("mm bmm")
    ['aten::mm', 'aten::bmm']
    """
    return [f"aten::{name}" for name in text.split()]
