"""Random inputs for both packages, for as long as one likes: ``python -m fuzz NAME [--help]``."""
