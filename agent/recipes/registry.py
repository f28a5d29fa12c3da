"""The recipes: one line each, imported when an agent follows it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bothends.agent.recipe import RecipeName

if TYPE_CHECKING:
    from bothends.agent.attempt import Play

__all__ = ["load_recipe"]

# Each module's `prepare()` returns what plays any number of attempts, in any number of threads.
_RECIPES: Mapping[RecipeName, str] = {
    "react": "bothends.agent.recipes.react",
    "single": "bothends.agent.recipes.single",
    "single+correct": "bothends.agent.recipes.correction",
    "self-consistency": "bothends.agent.recipes.consistency",
}


def load_recipe(name: RecipeName) -> Play:
    """Return a recipe, ready to be played.

    Args:
        name: Its name.
    """
    play: Play = importlib.import_module(_RECIPES[name]).prepare()
    return play
