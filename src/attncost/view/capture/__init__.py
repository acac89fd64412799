"""Watching the attention of a model while it runs, without changing what it computes."""
