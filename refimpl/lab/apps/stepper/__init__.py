"""Steppers: a run of a reference function, recorded line by line and shown on an HTML page."""
