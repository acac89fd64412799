"""What times a call."""
