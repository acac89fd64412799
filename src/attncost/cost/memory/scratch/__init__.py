"""What operations hold beside their arguments and results: one file for each kind of them."""
