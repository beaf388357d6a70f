"""The conformance kit: test vectors for every kernel, and the runner that checks any program."""
