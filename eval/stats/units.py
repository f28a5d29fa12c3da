"""What is resampled: questions with all of their replicas, or databases with all of theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bothends.eval.metrics import counted
from bothends.eval.record import Trial

__all__ = ["FEW_DATABASES", "UnitKind", "Units", "questions_of", "units_of"]

UnitKind = Literal["databases", "questions", "replicas"]

FEW_DATABASES: Final = 8
"""So many databases there must be for them to be what is resampled.

With fewer clusters, intervals that resample them cover far less than they say: Cameron, Gelbach
and Miller (2008), "Bootstrap-based improvements for inference with clustered errors", Review of
Economics and Statistics 90(3); Field and Welsh (2007), "Bootstrapping clustered data", JRSS B
69(3). Ours cover 94% and more with 8, about 92% with 5, and 78% with 3.
"""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a sample, in order, by their names.

    Attributes:
        kind: What one is.
        questions: For each unit, the ids of its questions; for replicas, a single id each.
        caveat: What the choice of units leaves out, in a sentence without its stop; or empty.
    """

    kind: UnitKind
    questions: tuple[tuple[str, ...], ...]
    caveat: str = ""


def questions_of(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the counted trials of each question, by its id, in order."""
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in counted(trials):
        found[trial.key.question_id].append(trial)
    return dict(found)


def units_of(question_ids: Sequence[str], databases: Mapping[str, str] | None) -> Units:
    """Return the units that several questions are resampled by.

    Questions over one database share its schema, and are right and wrong together; so where there
    are at least `FEW_DATABASES`, whole databases are resampled. Replicas stay with their question.

    Args:
        question_ids: The questions.
        databases: The database of each, by the question's id; those of no name are one.
    """
    of_database: dict[str, list[str]] = defaultdict(list)
    for each in question_ids:
        of_database[(databases or {}).get(each, "")].append(each)
    if len(of_database) >= FEW_DATABASES:
        return Units("databases", tuple(map(tuple, of_database.values())))
    caveat = (
        f"{len(of_database)} databases are too few to be resampled: the interval is for questions "
        "like these over these databases, not for other databases"
        if len(of_database) > 1
        else ""
    )
    return Units("questions", tuple((each,) for each in question_ids), caveat)
