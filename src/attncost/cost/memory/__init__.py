"""What a call keeps in memory, from a run on fake tensors: nothing is computed or allocated."""
