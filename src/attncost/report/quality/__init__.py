"""What a report says of quality: of a task that was trained on, and of a model as it is."""
