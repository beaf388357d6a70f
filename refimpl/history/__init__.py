"""Historical embeddings: the cache, its policies, what they prune, and how features are loaded."""
