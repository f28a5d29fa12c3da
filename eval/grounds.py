"""What a run's queries run on: an engine over each of the suite's databases, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from bothends.engines import Engine, open_engine
from bothends.engines.registry import engine_name, without_password
from bothends.engines.slots import EngineSlots
from bothends.eval.experiment import Experiment
from bothends.eval.manifest import Manifest, QuestionTerms
from bothends.eval.suites.base import Question, Suite
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError, UsageError

__all__ = ["Grounds", "asked_of", "data_changed", "fingerprint_digest", "question_terms"]


class Grounds:
    """The engines over one of the databases that questions are asked of, at a time.

    A context manager; the engines are closed with it.

    Args:
        experiment: What is run.
        suite: Its suite.
        questions: The questions.
        phase: Who is told what is about to be done.

    Raises:
        UsageError: If there are several databases and the engine's address names one.
        DataError: If one is missing.
    """

    def __init__(
        self,
        experiment: Experiment,
        suite: Suite,
        questions: Sequence[Question],
        phase: Callable[[str], None],
    ) -> None:
        self._experiment = experiment
        self._phase = phase
        self._datasets: dict[str, Dataset | None] = {}
        self._open: tuple[str, list[Engine]] | None = None
        for database in dict.fromkeys(question.database for question in questions):
            phase(f"data: {database or _scale(suite.name, experiment.scale_factor)}")
            self._datasets[database] = experiment.dataset(suite, database)
        if len(self._datasets) > 1 and "://" in experiment.engine:
            raise UsageError(
                f"suite {suite.name!r} asks of {len(self._datasets)} databases, and "
                f"{without_password(experiment.engine)} is one: name the engine alone, or choose "
                "one with --database"
            )

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each database, where there are several."""
        found = {name: dataset.digest for name, dataset in self._datasets.items() if dataset}
        return found if len(found) > 1 else {}

    def at(self, database: str) -> EngineSlots:
        """Return the engines over a database; those over the database before are closed."""
        if self._open is None or self._open[0] != database:
            self._close()
            over = f" over {database}" if database else ""
            self._phase(f"engine: starting {without_password(self._experiment.engine)}{over}")
            engines: list[Engine] = []
            self._open = database, engines
            for _ in range(self._experiment.engine_slots):
                engines.append(open_engine(self._experiment.engine, self._datasets[database]))
            self._slots = EngineSlots(engines)
        return self._slots

    def _close(self) -> None:
        if self._open is not None:
            for engine in self._open[1]:
                engine.close()
            self._open = None

    def __enter__(self) -> Self:
        """Return the grounds themselves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the engines."""
        self._close()


def _scale(suite: str, scale_factor: float | None) -> str:
    return suite if scale_factor is None else f"{suite} at scale factor {scale_factor:g}"


def asked_of(experiment: Experiment, suite: Suite) -> tuple[QuestionTerms, ...]:
    """Return the questions of an experiment as they are now, without opening its engine.

    Raises:
        BothendsError: If they cannot be read.
    """
    return question_terms(experiment.select(suite), engine_name(experiment.engine))


def data_changed(manifest: Manifest, experiment: Experiment, suite: Suite) -> bool:
    """Whether data that a run was measured on is there and is not what it was.

    Data that is gone leaves what was measured as it is. Of a server's own tables nothing is told
    here: that takes an engine.
    """
    for database in dict.fromkeys(question.database for question in manifest.questions):
        try:
            dataset = experiment.dataset(suite, database, generate=False)
        except DataError:
            continue
        if dataset is None:
            continue
        known = manifest.databases.get(database, manifest.engine.get("data"))
        if known not in {dataset.digest, f"{dataset.name} {dataset.digest}".strip()}:
            return True
    return False


def question_terms(questions: Sequence[Question], engine: str) -> tuple[QuestionTerms, ...]:
    """Return what a manifest says of questions, with their gold on an engine.

    Raises:
        UsageError: If one has no gold for it.
    """
    return tuple(
        QuestionTerms(
            id=question.id,
            title=question.title,
            text=question.text,
            gold_sql=question.gold_sql(engine),
            database=question.database,
            difficulty=question.difficulty,
            evidence=question.evidence,
        )
        for question in questions
    )


def fingerprint_digest(ground: Mapping[str, Any], databases: Mapping[str, str]) -> str:
    """Return the digest of what queries ran on: an engine's fingerprint, and its databases.

    Args:
        ground: The fingerprint, over the first database.
        databases: The digest of each database, where there are several.
    """
    value = {**ground, "databases": databases} if databases else ground
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
