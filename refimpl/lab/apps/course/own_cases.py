"""Questions that are no conformance vectors, in their form: of what is no kernel by itself."""

OWN: dict = {}
