"""Batches of sequences of unequal length: what padding wastes."""
