"""A small PNG writer: 8-bit red, green and blue, and a title (ISO/IEC 15948:2004)."""

import struct
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_DEPTH: Final = 8
_RGB: Final = 2


def png(pixels: NDArray[Any], *, title: str = "") -> bytes:
    """Return a picture as a PNG file.

    Args:
        pixels: Bytes of the axes (rows, columns, 3).
        title: Kept in the file as text.
    """
    tall, wide, _ = pixels.shape
    head = struct.pack(">IIBBBBB", wide, tall, _DEPTH, _RGB, 0, 0, 0)
    # Each row begins with the number of its filter, here none: cells repeat, which deflates well.
    rows = np.pad(pixels.astype(np.uint8).reshape(tall, 3 * wide), ((0, 0), (1, 0)))
    chunks = [_chunk(b"IHDR", head)]
    if title:
        text = title.replace("\0", "\ufffd").encode("utf-8", "replace")
        chunks.append(_chunk(b"iTXt", b"Title\0\0\0\0\0" + text))
    chunks += [_chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)), _chunk(b"IEND", b"")]
    return _SIGNATURE + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
