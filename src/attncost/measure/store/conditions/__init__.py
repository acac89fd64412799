"""What a timing depends on beside its call, one subject a file."""
