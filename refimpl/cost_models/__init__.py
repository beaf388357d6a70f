"""The papers' cost models as functions, each with its premises."""
