"""Why the lines of the steppers do what they do: tables for `Recipe.why`, a module a topic."""
