"""What the files of pictures hold."""

import base64
import struct
import zlib
from xml.etree import ElementTree as ET

import numpy as np

from attncost.view.maps.pictures.colours import INK, rgb

SVG = "{http://www.w3.org/2000/svg}"


def read_png(data):
    """Decode what a PNG of 8-bit colours without filters holds, and its chunks."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + body)
        chunks[kind], place = body, place + 12 + length
    wide, tall, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, kind, rest) == (8, 2, [0, 0, 0])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(tall, 1 + 3 * wide)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:].reshape(tall, wide, 3), chunks


def parsed(svg):
    """Return the root of an SVG, its texts and its images."""
    root = ET.fromstring(svg)
    return root, [text.text for text in root.iter(f"{SVG}text")], list(root.iter(f"{SVG}image"))


def cells_of(svg):
    """Return pixels of the cells, and where they begin, in pixels of a PNG."""
    _, _, (cells, *_) = parsed(svg)
    pixels, _ = read_png(base64.b64decode(cells.get("href").split(",")[1]))
    return pixels, (2 * int(cells.get("x")), 2 * int(cells.get("y")))


def ink_of(png):
    """Return which units of a PNG are ink."""
    canvas, _ = read_png(png)
    return (canvas[::2, ::2] == rgb(INK)).all(-1)
