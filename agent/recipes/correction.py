"""`single+correct`: a draft that the engine does not run is corrected by what the engine said."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from bothends.agent.attempt import Attempt, Ending, Play
from bothends.agent.prompts import correction_prompt
from bothends.agent.recipes.drafts import Drafter, ending_with, in_one_run

__all__ = ["prepare"]

# A time-out is not among them: on big data, another try at that price is a bill.
_CORRECTED = frozenset({"failed", "rejected"})


def prepare() -> Play:
    """Return the recipe.

    The outcome of the last draft counts. A correction without SQL ends it, and then the draft
    before it is the last.
    """
    return in_one_run(_play)


def _play(attempt: Attempt) -> Ending:
    drafter = Drafter(attempt)
    messages = drafter.prompt()
    last = drafter.draft(messages)
    for _ in range(attempt.recipe.corrections):
        if last.outcome is None or last.outcome.status not in _CORRECTED:
            break
        # The draft goes back without the words around it: thoughts are not asked for again.
        messages += [
            AIMessage(f"```sql\n{last.sql}\n```"),
            HumanMessage(correction_prompt(attempt.engine.title, last.observation)),
        ]
        corrected = drafter.draft(messages)
        if corrected.outcome is None:
            break
        last = corrected
    return ending_with(attempt, last)
