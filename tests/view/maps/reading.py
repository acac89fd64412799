"""A page's data read back and multiplied again in float64, by the contract and nothing of src."""

import base64
import json
import re
import zlib

import numpy as np

_TYPES = {"f16": "<f2", "f32": "<f4", "i32": "<i4", "u8": "u1"}


def read_page(page):
    """Return the header, and a function that decodes its blocks."""
    header = re.search(
        r'<script type="application/json" id="attncost-maps">(.*?)</script>', page, re.DOTALL
    )
    blocks = dict(re.findall(r'<script type="text/plain" id="(block-\d+)">([^<]*)</script>', page))

    def decode(block):
        data = base64.b64decode(blocks[block["id"]], validate=True)
        if block["packed"] == "deflate-raw":
            data = zlib.decompress(data, wbits=-15)
        return np.frombuffer(data, _TYPES[block["type"]]).reshape(block["shape"])

    return json.loads(header[1]), decode


def read_pairs(layer, decode):
    """Return which pairs are read, padding aside."""
    n, m = layer["n"], layer["m"]
    if layer["reads"] is None:
        return np.ones((n, m), bool)
    counts, gaps = decode(layer["reads"]["counts"]), list(decode(layer["reads"]["gaps"]))
    found = np.zeros((n, m), bool)
    for i in range(n):
        key = 0
        for _ in range(counts[i]):
            key += gaps.pop(0)
            length = gaps.pop(0)
            assert length > 0
            found[i, key : key + length] = True
            key += length
    assert not gaps
    return found


def padded_keys(header, layer, decode):
    block = header["sequences"][layer["keys"]]["padded"]
    return np.zeros(layer["m"], bool) if block is None else decode(block).astype(bool)


def bias_of(layer, place, decode):
    if layer["bias"] is None:
        return 0.0
    n, m = layer["n"], layer["m"]
    rows = decode(layer["bias"]["rows"]).astype(np.float64)
    mine = rows[place % len(rows)]
    if layer["bias"]["kind"] == "dense":
        return mine
    return np.stack([mine[n - 1 - i : n - 1 - i + m] for i in range(n)])


def weights(header, layer, place, decode):
    """Return the weights of one head, 0 where nothing is read."""
    head, n, m = layer["heads"][place], layer["n"], layer["m"]
    q = decode(head["q"]).astype(np.float64)
    k = decode(layer["keys_of"][head["group"]]).astype(np.float64)
    lse = decode(head["lse"]).astype(np.float64)[:, None]
    scores = layer["scale"] * (q @ k.T)
    if layer["softcap"] is not None:
        scores = layer["softcap"] * np.tanh(scores / layer["softcap"])
    scores = scores + bias_of(layer, place, decode)
    if layer["alibi"] is not None:
        distance = np.abs(np.arange(n)[:, None] + m - n - np.arange(m))
        scores = scores - layer["alibi"][place] * distance
    found = read_pairs(layer, decode) & ~padded_keys(header, layer, decode) & ~np.isneginf(lse)
    return np.where(found, np.exp(scores - np.where(np.isneginf(lse), 0, lse)), 0)
