"""What the figures show: one module for each measurement."""
