"""Objects of other projects that are made once for their inputs."""


class Kept:
    """A function that remembers its last result, as long as its arguments are the same objects.

    Parameters
    ----------
    make : callable
    """

    def __init__(self, make):
        self.make, self.given, self.made = make, (), None

    def __call__(self, *given):
        if len(given) != len(self.given) or any(
            a is not b for a, b in zip(given, self.given, strict=True)
        ):
            self.given, self.made = given, self.make(*given)
        return self.made
