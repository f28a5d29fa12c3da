"""What is judged together: a question's gold, and every distinct answer to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from bothends.engines import Limits
from bothends.engines.facts import EngineFacts
from bothends.eval.experiment import Regimen
from bothends.eval.record import Timing, Verdict
from bothends.eval.soundness import Soundness
from bothends.infra.dataset import Dataset

__all__ = ["Bench", "GoldResult", "Judged", "Result", "Task", "folded"]

_Ended = Literal["ok", "failed", "timeout", "rejected"]

# What is quoted, and what counts for nothing between the rest.
_PIECES: Final = re.compile(
    r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\])|(?:\s*([(),])\s*|\s+)"
)


@dataclass(frozen=True, slots=True)
class Task:
    """One question.

    Attributes:
        question_id: Its id.
        database: The database that it is asked of.
        gold_sql: Gold.
        answers: The distinct answers, each by its `folded` text.
    """

    question_id: str
    database: str
    gold_sql: str
    answers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bench:
    """How tasks are done.

    Attributes:
        engine: The engine: a name or an address.
        datasets: The data set of each database; None where the engine's address says it.
        limits: What an answer may take.
        gold_limits: What gold may take.
        regimen: How queries are timed; not at all with no repeats.
    """

    engine: str
    datasets: Mapping[str, Dataset | None]
    limits: Limits
    gold_limits: Limits
    regimen: Regimen


@dataclass(frozen=True, slots=True)
class GoldResult:
    """What became of gold.

    Attributes:
        status: How it ended.
        error: Why it ended otherwise than `ok`.
        columns: Its column names.
        row_count: Its rows.
        digest: The digest of its rows.
        seconds: Its first execution.
        soundness: Whether its result is the only right one.
        facts: What that execution took of the engine, where it tells.
    """

    status: _Ended
    error: str | None
    columns: tuple[str, ...]
    row_count: int | None
    digest: str | None
    seconds: float
    soundness: Soundness
    facts: EngineFacts | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one answer.

    Attributes:
        status: How it ended.
        error: Why it ended otherwise than `ok`.
        columns: Its column names.
        row_count: Its rows.
        first_rows: The first of them, cells as text or None.
        seconds: Its first execution.
        verdict: Right or wrong, where it executed.
        exact_match: Whether it is the same query as gold.
        soft_f1: BIRD's Soft-F1, where it executed.
        timing: Timings, where it was right by some verdict and timings are asked for.
        facts: What its first execution took of the engine, where it tells.
    """

    status: _Ended | Literal["unjudged"]
    error: str | None
    columns: tuple[str, ...] = ()
    row_count: int | None = None
    first_rows: tuple[tuple[Any, ...], ...] = ()
    seconds: float = 0.0
    verdict: Verdict | None = None
    exact_match: bool | None = None
    soft_f1: float | None = None
    timing: Timing | None = None
    facts: EngineFacts | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one task.

    Attributes:
        gold: Of its gold.
        judged: Of each answer, by its folded text; empty where gold did not execute.
    """

    gold: GoldResult
    judged: Mapping[str, Judged] = field(default_factory=dict)


def folded(sql: str, engine: str) -> str:
    """Return a text that only queries that mean the same on an engine share.

    In SQLite letter case counts only between quotes, and white space only where it separates. On
    other engines, and where there are comments, the text stays as it is.

    Args:
        sql: The query.
        engine: The engine's name.
    """
    if engine != "sqlite" or "--" in sql or "/*" in sql:
        return sql
    pieces: list[str] = []
    end = 0
    for match in _PIECES.finditer(sql):
        pieces += sql[end : match.start()].lower(), match[1] or match[2] or " "
        end = match.end()
    return "".join([*pieces, sql[end:].lower()]).strip().rstrip("; ")
