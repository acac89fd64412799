"""How fast a machine is, by operation, and what a call would take on it."""
