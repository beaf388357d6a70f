"""Random inputs for both packages, as long as one likes: ``python tests/fuzz NAME [--help]``."""
