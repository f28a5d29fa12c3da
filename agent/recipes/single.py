"""`single`: one call with the schema in the prompt; the SQL in the reply is run."""

from __future__ import annotations

from bothends.agent.attempt import Attempt, Ending, Play
from bothends.agent.recipes.drafts import Drafter, ending_with, in_one_run

__all__ = ["prepare"]


def prepare() -> Play:
    """Return the recipe."""
    return in_one_run(_play)


def _play(attempt: Attempt) -> Ending:
    drafter = Drafter(attempt)
    return ending_with(attempt, drafter.draft(drafter.prompt()))
