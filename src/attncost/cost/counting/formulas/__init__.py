"""Formulas of PyTorch's operations, a family a file; each registers itself when it is imported."""
