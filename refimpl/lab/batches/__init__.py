"""What the loaders for other libraries share: epochs of batches, roots, and graphs of edges."""
