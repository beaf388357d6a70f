"""Loops over an implementation: written once, for both packages."""
