"""What other attention changes in a model as it is: swapped in and measured, nothing trained."""
