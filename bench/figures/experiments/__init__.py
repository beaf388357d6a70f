"""One module for each figure or table: what it measures, what the paper claims, what is drawn."""
