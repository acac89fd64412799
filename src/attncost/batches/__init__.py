"""Batches of sequences of unequal length: what lies in their rows, and what padding wastes."""
