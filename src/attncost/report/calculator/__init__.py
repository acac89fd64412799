"""The calculator: a page that evaluates the formulas of this package, and nothing of its own."""
