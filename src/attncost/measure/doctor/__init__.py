"""What defaults waste on this machine: measured first, then advised, and nothing changed."""
