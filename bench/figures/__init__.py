"""The papers' figures and tables, measured again: `python -m bench figure`."""
