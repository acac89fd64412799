"""Trained comparisons: accuracy against cost on one task.

`comparison` says what, `run` trains once, `price` and `times` say what it costs, `stored` keeps it
in a folder, and `study` does all of it.
"""
