"""What a suite is: questions with their gold SQL, and the data that they are asked of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError

__all__ = ["Question", "Suite"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold.

    Attributes:
        id: Unique in its suite.
        text: The question as the agent is asked it.
        gold: Gold SQL by engine name; the key `default` serves every engine not named.
        title: A few words for tables.
    """

    id: str
    text: str
    gold: Mapping[str, str] = field(repr=False)
    title: str = ""

    def gold_sql(self, engine: str) -> str:
        """Return the gold SQL for an engine, by its name."""
        return self.gold.get(engine, self.gold["default"])


class Suite(ABC):
    """A set of questions over one data set.

    Attributes:
        name: The suite's registered name.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def questions(self) -> tuple[Question, ...]:
        """Every question, in the suite's own order."""

    @abstractmethod
    def dataset(self, scale_factor: float, root: Path, *, generate: bool = True) -> Dataset:
        """Return the data at a scale factor, generating it below `root` where it is missing.

        Raises:
            DataError: If it is missing and must not be generated, or is not of that scale.
        """

    def select(self, ids: Sequence[str] | None) -> tuple[Question, ...]:
        """Return the questions with these ids in the suite's order, or all of them for None.

        Raises:
            UsageError: If an id is not in the suite; the message names those that are.
        """
        if ids is None:
            return self.questions
        known = {question.id for question in self.questions}
        unknown = [wanted for wanted in ids if wanted not in known]
        if unknown:
            raise UsageError(
                f"suite {self.name!r} has no question {', '.join(map(repr, unknown))}; "
                f"its questions are: {', '.join(question.id for question in self.questions)}"
            )
        return tuple(question for question in self.questions if question.id in set(ids))
