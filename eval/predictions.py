"""Predictions made elsewhere: SQL by question id, in the formats that benchmarks hand in.

They are paired with questions by id alone, never by position.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bothends.eval.suites.base import Question
from bothends.eval.suites.entries import field_of, read_entries, read_text
from bothends.infra.errors import DataError, UsageError

__all__ = ["Prediction", "PredictionSet", "read_predictions"]

_BIRD_MARK: Final = "\t----- bird -----\t"
_ID: Final = ("question_id", "id", "instance_id", "qid")
_SQL: Final = ("sql", "SQL", "predicted_sql", "pred_sql", "prediction", "pred", "query")
_DATABASE: Final = ("db_id", "db", "database")
_INPUT: Final = ("prompt_tokens", "input_tokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens")
_CALLS: Final = ("model_calls", "llm_calls", "calls")
_SECONDS: Final = {"latency_s": 1.0, "seconds": 1.0, "time_s": 1.0, "latency_ms": 1e-3}
_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was answered to one question.

    Attributes:
        sql: The SQL; empty where there is none.
        database: The database that it says it is for; empty where it does not say.
        input_tokens: Prompt tokens, or None where they are not known.
        output_tokens: Reply tokens; likewise.
        calls: LLM calls that it took; likewise.
        seconds: Seconds from the question to the SQL; likewise.
    """

    sql: str
    database: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PredictionSet:
    """The predictions of one file or directory.

    Attributes:
        path: Where they were read.
        digest: SHA-256 of what was read.
        of: The prediction of each question, by its id.
    """

    path: Path
    digest: str
    of: Mapping[str, Prediction]

    def missing(self, questions: Sequence[Question]) -> tuple[str, ...]:
        """Return the ids of the questions that it has no prediction for."""
        return tuple(question.id for question in questions if question.id not in self.of)

    def unknown(self, questions: Sequence[Question]) -> tuple[str, ...]:
        """Return its ids that are no question's, which nothing is done with."""
        known = {question.id for question in questions}
        return tuple(each for each in self.of if each not in known)

    def check(self, questions: Sequence[Question]) -> None:
        """Check that these are predictions for a suite.

        Args:
            questions: All of its questions.

        Raises:
            DataError: If no id is a question's, or a prediction names another database than its
                question.
        """
        if len(self.unknown(questions)) == len(self.of):
            raise DataError(
                f"{self.path}: none of its ids ({_named(self.of)}) is a question of the suite, "
                f"whose ids are {_named(question.id for question in questions)}"
            )
        strays = [
            question.id
            for question in questions
            if (database := self.of[question.id].database if question.id in self.of else "")
            and question.database
            and database != question.database
        ]
        if strays:
            raise DataError(
                f"{self.path} names another database than the suite for question "
                f"{_named(strays)}: it belongs to another suite, or its ids do"
            )


def read_predictions(path: Path) -> PredictionSet:
    """Read a file or directory of predictions.

    - `.json`: BIRD's, an object of id to SQL (with or without BIRD's mark and database behind it);
      or id to an object, or a list of objects, as in JSONL.
    - `.jsonl`: an object a line with `question_id` and `sql`, and where known `prompt_tokens`,
      `completion_tokens`, `model_calls`, `latency_s`; other usual names are understood.
    - A directory: Spider 2.0's, a file `<id>.sql` for each question.

    The same id twice is an error unless both say the same.

    Raises:
        UsageError: If it does not exist, or is in no such format.
        DataError: If it cannot be read, or its content is not what its name says.
    """
    if path.is_dir():
        return _directory(path)
    if not path.exists():
        raise UsageError(f"there is no file or directory of predictions {path}")
    if path.suffix not in {".json", ".jsonl"}:
        raise UsageError(
            f"{path} is not in a known format of predictions: give a .json file as BIRD's, a "
            ".jsonl file with question_id and sql, or a directory of <id>.sql files"
        )
    text = read_text(path)
    digest = hashlib.sha256(text.encode()).hexdigest()
    bird = _object(text, path) if path.suffix == ".json" else None
    if bird is not None:
        found = ((str(key), _of_bird(f"{path}, id {key!r}", value)) for key, value in bird)
    else:
        found = (
            (field_of(entry, where, *_ID), _of_entry(where, entry))
            for where, entry in read_entries(path)
        )
    return PredictionSet(path, digest, _unique(found, path))


def _directory(path: Path) -> PredictionSet:
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".sql")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if not files:
        raise DataError(f"{path} holds no <id>.sql file")
    digest = hashlib.sha256()
    of = {}
    for file in files:
        try:
            raw = file.read_bytes()
            of[file.stem] = Prediction(raw.decode("utf-8-sig").strip())
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{file} is not UTF-8 text: {error.reason}") from None
        digest.update(f"{file.name}:{len(raw)}:".encode() + raw)
    return PredictionSet(path, digest.hexdigest(), of)


def _object(text: str, path: Path) -> list[tuple[str, Any]] | None:
    """Return the pairs of a JSON object, repeated keys and all; None where it is a list."""
    pairs: list[tuple[str, Any]] = []

    def keep(found: list[tuple[str, Any]]) -> dict[str, Any]:
        # The outermost object comes last.
        pairs[:] = found
        return dict(found)

    try:
        whole = json.loads(text, object_pairs_hook=keep)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno} is not JSON: {error.msg}") from None
    except RecursionError:
        raise DataError(f"{path} is nested too deeply") from None
    if isinstance(whole, dict):
        if not whole:
            raise DataError(f"{path} holds no prediction")
        return pairs
    if isinstance(whole, list) and any(isinstance(each, str) for each in whole):
        raise DataError(
            f"{path} is a list of SQL without ids, and predictions are paired by id alone: give an "
            "object of id to SQL"
        )
    return None


def _of_bird(where: str, value: Any) -> Prediction:
    if isinstance(value, Mapping):
        return _of_entry(where, value)
    # BIRD's own scripts write 0 where a model gave no answer.
    if value is None or (value == 0 and not isinstance(value, bool)):
        return Prediction("")
    if not isinstance(value, str):
        raise DataError(f"{where}: a prediction must be SQL, not {json.dumps(value)[:40]}")
    sql, _, database = value.partition(_BIRD_MARK)
    return Prediction(sql.strip(), database.strip())


def _of_entry(where: str, entry: Mapping[str, Any]) -> Prediction:
    if not any(name in entry for name in _SQL):
        raise DataError(f"{where}: there is no {' or '.join(map(repr, _SQL[:3]))}")
    sql, _, marked = field_of(entry, where, *_SQL, default="").partition(_BIRD_MARK)
    usage = entry.get("usage")
    counts = {**usage, **entry} if isinstance(usage, Mapping) else entry
    return Prediction(
        sql.strip(),
        field_of(entry, where, *_DATABASE, default=marked.strip()),
        input_tokens=_count(counts, where, _INPUT),
        output_tokens=_count(counts, where, _OUTPUT),
        calls=_count(counts, where, _CALLS),
        seconds=_seconds(counts, where),
    )


def _count(entry: Mapping[str, Any], where: str, names: Iterable[str]) -> int | None:
    for name in names:
        value = entry.get(name)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise DataError(f"{where}: {name!r} must be a whole number, but is {value!r:.40}")
            return value
    return None


def _seconds(entry: Mapping[str, Any], where: str) -> float | None:
    for name, unit in _SECONDS.items():
        value = entry.get(name)
        if value is not None:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < float("inf"):
                raise DataError(f"{where}: {name!r} must be a number of 0 or more")
            return float(value) * unit
    return None


def _unique(found: Iterable[tuple[str, Prediction]], path: Path) -> dict[str, Prediction]:
    of: dict[str, Prediction] = {}
    differing = []
    for key, prediction in found:
        if of.setdefault(key, prediction) != prediction:
            differing.append(key)
    if differing:
        raise DataError(
            f"{path} has two different predictions for question {_named(differing)}: keep one"
        )
    return of


def _named(ids: Iterable[str]) -> str:
    """Name the first few ids."""
    each = list(dict.fromkeys(ids))
    more = f" and {len(each) - _NAMED} more" if len(each) > _NAMED else ""
    return ", ".join(each[:_NAMED]) + more
