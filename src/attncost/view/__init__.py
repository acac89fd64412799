"""Seeing attention: what it reads, how it spreads, and what that costs, at any length."""
