"""What cheaper attention costs in quality: trained on a task, or put into a model as it is."""
