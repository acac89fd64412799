"""What a fresh process does for the doctor: one call for each line that it reads.

    python -m attncost.measure.doctor.worker naive|first LENGTH HEADS HEAD_DIM

`naive` times attention as the articles write it, in one process that lives on; `first` times a
layer's first call and later ones, in a child of its own for each line, which saves importing
PyTorch anew. An answer is a line of JSON. Runs on one thread; nothing is printed but answers. Why
it is no process of a sweep stands in `attncost.measure.doctor.workers`, which asks it.
"""

import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable
from statistics import median
from typing import Final, NoReturn

import torch

_LATER: Final = 5

Answer = dict[str, float]


def main(kind: str, length: int, heads: int, head_dim: int) -> None:
    """Answer until nothing more is asked."""
    torch.set_num_threads(1)
    answer = {"naive": naive, "first": first}[kind](length, heads, head_dim)
    with torch.inference_mode():
        for _ in sys.stdin:
            sys.stdout.write(f"{json.dumps(answer())}\n")
            sys.stdout.flush()


def naive(length: int, heads: int, head_dim: int) -> Callable[[], Answer]:
    """Return a call that tells its CPU time, its page faults and the memory of the process."""
    from resource import RUSAGE_SELF, getrusage  # noqa: PLC0415 -- not on Windows

    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.rand(1, heads, length, head_dim, generator=generator) for _ in range(3))

    def call() -> Answer:
        faults, start = getrusage(RUSAGE_SELF).ru_minflt, time.process_time()
        _ = (q @ k.mT / math.sqrt(head_dim)).softmax(-1) @ v
        seconds, used = time.process_time() - start, getrusage(RUSAGE_SELF)
        return {
            "seconds": seconds,
            "faults": used.ru_minflt - faults,
            # KiB on Linux, bytes on macOS.
            "bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        }

    return call


def first(length: int, heads: int, head_dim: int) -> Callable[[], Answer]:
    """Return a call that has a child tell how long its first call took, and later ones."""
    width = heads * head_dim
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(3 * width, width, generator=generator) / width
    tokens = torch.rand(1, length, width, generator=generator)

    def layer() -> float:
        start = time.process_time()
        features = torch.nn.functional.linear(tokens, weights)
        q, k, v = features.view(1, length, 3, heads, head_dim).permute(2, 0, 3, 1, 4)
        torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return time.process_time() - start

    def call() -> Answer:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _answer(layer, writing)
        os.close(writing)
        with os.fdopen(reading) as answer:
            told = answer.read()
        os.waitpid(child, 0)
        if not told:
            sys.exit(1)  # The child has said why.
        return dict(json.loads(told))

    return call


def _answer(layer: Callable[[], float], writing: int) -> NoReturn:
    """Answer as a child, and end whatever happens: it must not go on as a second worker."""
    status = 1
    try:
        times = [layer() for _ in range(1 + _LATER)]
        found = {"first": times[0], "later": median(times[1:])}
        os.write(writing, json.dumps(found).encode())
        status = 0
    finally:
        if status:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
