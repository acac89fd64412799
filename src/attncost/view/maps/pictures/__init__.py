"""One head as a picture, in pixels and in vectors."""
