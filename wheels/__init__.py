"""Builds what is published, and tries it where users would: ``python -m wheels --help``."""
