"""What a suite is: questions with their gold SQL, and the data that they are asked of."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError, UsageError

__all__ = ["Exclusion", "Question", "Suite"]

_NAMED: Final = 30


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold.

    Attributes:
        id: Unique in its suite.
        text: The question in words.
        gold: Gold SQL by engine name; the key `default` serves every engine not named.
        title: A few words for tables.
        database: Which of the suite's databases it is asked of; empty where there is only one.
        difficulty: How hard its suite says it is; empty where it does not say.
        evidence: What a reader must know besides the schema, such as what a code stands for.
    """

    id: str
    text: str
    gold: Mapping[str, str] = field(repr=False)
    title: str = ""
    database: str = ""
    difficulty: str = ""
    evidence: str = ""

    @property
    def prompt(self) -> str:
        """The question as an agent is asked it: its text, and its evidence in a line below."""
        return f"{self.text}\nEvidence: {self.evidence}" if self.evidence else self.text

    def gold_sql(self, engine: str) -> str:
        """Return the gold SQL for an engine, by its name.

        Raises:
            UsageError: If it has none that the engine could run.
        """
        sql = self.gold.get(engine, self.gold.get("default"))
        if sql is None:
            raise UsageError(
                f"question {self.id!r} has no gold SQL for engine {engine!r}, only for "
                f"{', '.join(sorted(self.gold)) or 'none'}"
            )
        return sql


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A question that cannot be asked on an engine.

    Attributes:
        question: The question.
        reason: Why, in a sentence.
    """

    question: Question
    reason: str


class Suite(ABC):
    """A set of questions over one data set or several.

    Attributes:
        name: The suite's registered name, or a file's.
        scaled: Whether its data comes at scale factors.
        bound: Whether its questions are about its own data alone, not about what an engine's
            address names.
    """

    name: str
    scaled: ClassVar[bool] = True
    bound: ClassVar[bool] = True

    def __init__(self, data: Path | None = None, engine: str = "sqlite") -> None:
        """Take the directory that holds the data; nothing is read yet.

        Args:
            data: The directory. A suite whose questions lie with its data needs it.
            engine: The name of the engine that the questions are for.
        """
        self.data = data
        self.engine = engine

    @property
    @abstractmethod
    def questions(self) -> tuple[Question, ...]:
        """Every question, in the suite's own order.

        Raises:
            BothendsError: If they cannot be read.
        """

    @property
    def excluded(self) -> tuple[Exclusion, ...]:
        """The questions that are left out on this engine; they are not among `questions`."""
        return ()

    @abstractmethod
    def dataset(
        self, scale_factor: float | None, root: Path, *, database: str = "", generate: bool = True
    ) -> Dataset:
        """Return the data at a scale factor, generating it below `root` where it is missing.

        Args:
            scale_factor: The scale factor; None where the suite has none.
            root: The directory that holds the data.
            database: Which database; empty where there is only one.
            generate: Whether missing data may be generated, where that can be done.

        Raises:
            DataError: If it is missing and must not be generated, or is not of that scale.
        """

    def dataset_on(
        self,
        engine: str,
        scale_factor: float | None,
        root: Path,
        database: str,
        *,
        generate: bool = True,
    ) -> Dataset | None:
        """Return the data that an engine is opened with; None where its address says where it is.

        Args:
            engine: The engine: a name or a URL.
            scale_factor: The scale factor; None where the suite has none.
            root: The directory that holds the data.
            database: Which database; empty where there is only one.
            generate: Whether missing data may be generated, where that can be done.

        Raises:
            DataError: If it is missing.
        """
        scheme, addressed, _ = engine.partition("://")
        # A standalone cluster computes and holds no tables of its own.
        if addressed and not self.bound and scheme != "spark":
            if scheme != "sc":
                return None
            try:
                return self.dataset(None, root, database=database)
            except DataError:
                return None  # the server's own tables
        return self.dataset(scale_factor, root, database=database, generate=generate)

    def select(
        self,
        ids: Sequence[str] | None = None,
        *,
        databases: Sequence[str] | None = None,
        difficulties: Sequence[str] | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> tuple[Question, ...]:
        """Return the questions that meet every condition, in the suite's order.

        Args:
            ids: Their ids; None for all.
            databases: Their databases; None for all.
            difficulties: Their difficulties; None for all.
            sample: How many of these to draw at random; None, or a number that is not reached,
                for all of them.
            seed: What the draw hangs on besides the ids: the same seed draws the same questions,
                and a smaller sample is part of a larger one.

        Raises:
            UsageError: If the suite has no such id, database or difficulty (the message names
                those it has), or no question is left.
        """
        chosen = self.questions
        for noun, wanted, values in (
            ("question", ids, [question.id for question in chosen]),
            ("database", databases, [question.database for question in chosen]),
            ("difficulty", difficulties, [question.difficulty for question in chosen]),
        ):
            if wanted is not None:
                self._check_known(noun, wanted, values)
        chosen = tuple(
            question
            for question in chosen
            if (ids is None or question.id in set(ids))
            and (databases is None or question.database in set(databases))
            and (difficulties is None or question.difficulty in set(difficulties))
        )
        if not chosen:
            raise UsageError(f"suite {self.name!r} has no question that meets all conditions")
        if sample is not None and sample < len(chosen):
            drawn = set(
                sorted((_lot(question.id, seed), question.id) for question in chosen)[:sample]
            )
            chosen = tuple(q for q in chosen if (_lot(q.id, seed), q.id) in drawn)
        return chosen

    def _check_known(self, noun: str, wanted: Sequence[str], values: Iterable[str]) -> None:
        left_out = {each.question.id: each.reason for each in self.excluded}
        for each in wanted if noun == "question" else ():
            if each in left_out:
                raise UsageError(
                    f"question {each!r} is left out on engine {self.engine!r}: {left_out[each]}"
                )
        known = list(dict.fromkeys(value for value in values if value))
        unknown = [each for each in wanted if each not in known]
        if not unknown:
            return
        plural = "difficulties" if noun == "difficulty" else f"{noun}s"
        named = ", ".join(known[:_NAMED]) + (", ..." if len(known) > _NAMED else "")
        raise UsageError(
            f"suite {self.name!r} has no {noun} {', '.join(map(repr, unknown))}; "
            + (f"its {plural} are: {named}" if known else f"it does not name {plural}")
        )


def _lot(question_id: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{question_id}".encode()).hexdigest()
