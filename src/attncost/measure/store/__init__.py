"""Runs on disk: samples, where they were taken, and what they say of each cell."""
