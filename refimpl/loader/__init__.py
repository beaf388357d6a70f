"""Loading features: by one-sided reads, in rounds (FreshGNN section 6)."""
