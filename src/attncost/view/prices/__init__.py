"""What cheaper attention would cost, and change, for the heads that were seen."""
