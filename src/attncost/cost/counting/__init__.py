"""Counting: what any module costs, by watching the operations that it really calls."""
