"""`self-consistency`: several drafts, each run; the result that most of them agree on counts.

X. Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models", ICLR
2023, with a query's result as the answer that is voted on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from bothends.agent.attempt import Attempt, Ending, Play
from bothends.agent.recipes.drafts import Draft, Drafter, ending_with, in_one_run
from bothends.engines import Outcome
from bothends.engines.result_digest import result_digest

__all__ = ["elected", "prepare"]


def prepare() -> Play:
    """Return the recipe. Drafts are asked for and run one after the other."""
    return in_one_run(_play)


def _play(attempt: Attempt) -> Ending:
    drafter = Drafter(attempt)
    messages = drafter.prompt()
    drafts = [drafter.draft(messages) for _ in range(attempt.recipe.samples)]
    return ending_with(attempt, elected(drafts))


def elected(drafts: Sequence[Draft]) -> Draft:
    """Return the first draft of the largest group with the same result.

    A tie goes to the group whose first draft came first. Drafts that did not execute form groups,
    by their status, only where none executed; those without SQL, only where no draft has any.

    Args:
        drafts: At least one.
    """
    run = [(draft, draft.outcome) for draft in drafts if draft.outcome is not None]
    executed = [each for each in run if each[1].status == "ok"]
    groups: dict[Hashable, list[Draft]] = {}
    for draft, outcome in executed or run:
        groups.setdefault(_group(draft, outcome), []).append(draft)
    # The first of the largest: groups stand in the order of their first drafts.
    return max(groups.values(), key=len)[0] if groups else drafts[0]


def _group(draft: Draft, outcome: Outcome) -> Hashable:
    if outcome.status != "ok":
        return outcome.status
    # A result that is not here as a whole agrees for certain only with that of the same query.
    return result_digest(outcome) or outcome.digest or ("sql", draft.sql)
