"""Ways to put texts into batches, tried out on the model and on real texts."""
