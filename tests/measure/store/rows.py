"""Rows of a run, for tests that need some."""

ENVIRONMENT = {"clock": "process CPU time", "threads": 1}
SAMPLE = {
    "kind": "sample",
    "subject": "full, fused qkv",
    "labels": {"attention": "full", "qkv": "fused"},
    "length": 512,
    "batch": 1,
    "dtype": "float32",
    "threads": 1,
    "mode": "forward",
    "device": "cpu",
    "round": 3,
    "warmup": False,
    "repeats": 4,
    "seconds": 0.0123,
    "wall_seconds": 1,
    "peak_bytes": 12345678,
    "linear_flops": 1073741824,
    "core_flops": 536870912,
    "bytes": 4194304,
    "cpu_seconds": 0.0124,
    "waited_seconds": 0.5,
    "minor_faults": 7.25,
    "major_faults": 0,
    "switches": 3,
}
