"""Documents: what was found, gathered once and rendered one way a file."""
