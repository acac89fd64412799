"""Attention maps as one page: exact weights at any length, from queries and keys."""
