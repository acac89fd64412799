"""What a page says of captured calls, as plain data."""
