"""Arrays as text inside a page: little-endian, deflated where that helps, base64, equal ones once.

    four characters for three bytes,  16-bit queries and keys deflate to about 92 %

What would take the page over its limit is not kept; `over` says that there was something.
"""

import base64
import zlib
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from attncost.draw.markup import element

_TYPES: Final = {"f16": "<f2", "f32": "<f4", "i32": "<i4", "u8": "|u1"}
# Halves repeat nothing but zeros: looking for more takes three times as long and finds nothing.
_STRATEGIES: Final = {"f16": zlib.Z_RLE}
# Deflating must win so much to be worth undoing it.
_WORTH: Final = 0.97
# Bytes that are deflated before looking whether there is still room.
_STEP: Final = 1 << 20


@final
class Blocks:
    """The arrays of one page.

    Attributes:
        most: Bytes that they may take.
        bytes: What they do take.
        raw: What equal ones took once before they were deflated.
        over: Whether something did not fit.
    """

    __slots__ = ("_ids", "_texts", "bytes", "most", "over", "raw")

    def __init__(self, most: int) -> None:
        """Begin with nothing.

        Args:
            most: Bytes that they may take together.
        """
        self.most, self._texts = most, list[str]()
        self._ids: dict[bytes, tuple[str, str]] = {}
        self.bytes, self.raw, self.over = 0, 0, False

    def add(self, array: NDArray[Any], type_: str) -> dict[str, object]:
        """Keep an array and return what the page's header says of it.

        Args:
            array: Numbers that the type can hold.
            type_: One of f16, f32, i32 and u8.
        """
        data = np.ascontiguousarray(array, dtype=_TYPES[type_]).data.cast("B")
        mark = sha256(data).digest()
        if mark not in self._ids:
            self._ids[mark] = self._kept(data, _STRATEGIES.get(type_, zlib.Z_DEFAULT_STRATEGY))
        ident, packed = self._ids[mark]
        return {"id": ident, "type": type_, "shape": list(array.shape), "packed": packed}

    def elements(self) -> Iterator[str]:
        """Yield the elements that hold them."""
        for number, text in enumerate(self._texts):
            yield element("script", text, type="text/plain", id=f"block-{number}")

    def _kept(self, data: memoryview, strategy: int) -> tuple[str, str]:
        ident, room = f"block-{len(self._texts)}", (self.most - self.bytes) * 3 // 4
        packed = _deflated(data, min(room, int(_WORTH * len(data))), strategy)
        if packed is None and len(data) > room:
            self.over = True
            return ident, "plain"
        text = base64.b64encode(data if packed is None else packed).decode("ascii")
        self._texts.append(text)
        self.bytes, self.raw = self.bytes + len(text), self.raw + len(data)
        return ident, "plain" if packed is None else "deflate-raw"


def _deflated(data: memoryview, most: int, strategy: int) -> bytes | None:
    """Return deflated bytes without a header, or None as soon as they are more than `most`."""
    deflate, found, size = zlib.compressobj(wbits=-zlib.MAX_WBITS, strategy=strategy), [], 0
    for start in range(0, len(data), _STEP):
        found.append(deflate.compress(data[start : start + _STEP]))
        size += len(found[-1])
        if size > most:
            return None
    found.append(deflate.flush())
    return b"".join(found) if size + len(found[-1]) <= most else None
