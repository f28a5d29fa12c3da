"""Words that the sentences of a report share."""

from __future__ import annotations

from collections.abc import Sequence

from bothends.eval.metrics import counted
from bothends.eval.report.source import Group

__all__ = ["join", "plural", "title", "titles", "unpriced"]


def join(names: Sequence[str]) -> str:
    """Return names as in a sentence: `a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def plural(count: int, noun: str, several: str | None = None) -> str:
    """Return a count with its noun; its plural is given where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def title(group: Group) -> str:
    """Return a model's name, saying so where it is none."""
    return f"{group.name} (script)" if group.model.kind == "scripted" else group.name


def titles(found: Sequence[Group]) -> str:
    """Return several models' names as in a sentence."""
    return join([title(group) for group in found])


def unpriced(found: Sequence[Group]) -> str:
    """Return the sentence for models whose cost is not known, with the reasons."""
    reasons = "; ".join(dict.fromkeys(reason for each in found for reason in _unknown_of(each)))
    verb = "costs" if len(found) == 1 else "cost"
    return f"What {titles(found)} {verb} is not known ({reasons})."


def _unknown_of(group: Group) -> list[str]:
    """Why: tokens that nobody reported, no price of the model, or none of the engine."""
    unknown = [trial for trial in counted(group.trials) if trial.cost.usd is None]
    asked = [trial for trial in unknown if trial.cost.llm_usd is None]
    if unknown and not asked:
        return [trial.cost.engine_priced_by for trial in unknown]
    untold = sum(trial.usage is None for trial in asked)
    if untold and not group.model.priced_by.startswith("not priced"):
        return [f"tokens were not reported in {untold} of {plural(len(group.trials), 'trial')}"]
    return [group.model.priced_by]
