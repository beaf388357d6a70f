"""The steppers: each module of this folder has RECIPES, a tuple of Recipe."""

import importlib
import pkgutil

from refimpl.lab.apps.stepper.recipe import Recipe


def recipes() -> dict[str, Recipe]:
    """Return name -> Recipe of all steppers, sorted by name."""
    found: dict[str, Recipe] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for recipe in importlib.import_module(module.name).RECIPES:
            if recipe.name in found:
                raise ValueError(f"two recipes are called {recipe.name!r}")
            found[recipe.name] = recipe
    return dict(sorted(found.items()))
