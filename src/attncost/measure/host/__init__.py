"""What the system says of the machine to whoever asks; no answer is made up."""
