"""What can be measured, and in which cases."""
