"""Where calls of attention can be seen as they are made: one file for each way to make them."""
