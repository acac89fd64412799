"""Arrays of a page: packed, rounded, and short where they follow a rule."""
