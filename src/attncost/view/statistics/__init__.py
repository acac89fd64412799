"""Statistics of attention weights, exact, without n x m weights."""
