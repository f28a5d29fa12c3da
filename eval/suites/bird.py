"""BIRD (https://bird-bench.github.io) as it is distributed: questions over many SQLite databases.

A directory with `dev.json` or mini-dev's `mini_dev_sqlite.json`, and the databases in
`dev_databases/<db>/<db>.sqlite`. Each question comes with evidence and a difficulty.

On engines other than SQLite the directory is one that `bothends data import` has written: its
databases are directories of Parquet tables, and beside its questions lies their gold for the
engine, as far as it means there what it means on SQLite.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from bothends.eval.gold.entries import load_gold
from bothends.eval.suites.base import Exclusion, Question, Suite
from bothends.eval.suites.databases import data_directory, find_database, no_scale_factor
from bothends.eval.suites.entries import field_of, read_entries
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError
from bothends.infra.imported import MANIFEST, imported_dataset

__all__ = ["BirdSuite", "holds_questions", "question_file", "unique_ids"]

_QUESTIONS: Final = ("dev.json", "mini_dev_sqlite.json")
_HOLDS: Final = "dev.json (or mini_dev_sqlite.json) and dev_databases"


class BirdSuite(Suite):
    """BIRD dev, mini-dev, or whatever else has their layout. Gold is SQLite's."""

    name = "bird"
    scaled: ClassVar[bool] = False

    @property
    def questions(self) -> tuple[Question, ...]:
        """Every question that can be asked on the engine, in the file's order."""
        return self._read[0]

    @property
    def excluded(self) -> tuple[Exclusion, ...]:
        """The questions whose gold does not hold on the engine."""
        return self._read[1]

    def dataset(
        self, scale_factor: float | None, root: Path, *, database: str = "", generate: bool = True
    ) -> Dataset:
        """Return one of the databases."""
        del generate
        no_scale_factor(scale_factor, self.name)
        directory = data_directory(root, self.name, _HOLDS)
        if self.engine != "sqlite" and (directory / database / MANIFEST).is_file():
            return imported_dataset(directory / database, self.engine)
        return find_database(directory / "dev_databases", database, ("{0}/{0}.sqlite",))

    @cached_property
    def _read(self) -> tuple[tuple[Question, ...], tuple[Exclusion, ...]]:
        directory = data_directory(self.data, self.name, _HOLDS)
        everything = _questions(directory)
        if self.engine == "sqlite":
            return everything, ()
        gold = load_gold(directory, self.engine)
        if not gold:
            raise DataError(
                f"{directory} holds no gold for engine {self.engine!r}: bring BIRD over with "
                f"`bothends data import DIR --suite bird --engine {self.engine}`, and give --data "
                "the directory that it names"
            )
        asked, excluded = [], []
        for question in everything:
            entry = gold.get(question.id)
            if entry is None or entry.source_sql != question.gold["sqlite"]:
                excluded.append(Exclusion(question, "it was not there when BIRD was brought over"))
            elif entry.status == "excluded" or entry.sql is None:
                excluded.append(Exclusion(question, entry.reason))
            else:
                asked.append(replace(question, gold={self.engine: entry.sql}))
        return tuple(asked), tuple(excluded)


def _questions(directory: Path) -> tuple[Question, ...]:
    file = question_file(directory)
    questions = []
    for position, (where, entry) in enumerate(read_entries(file)):
        database = field_of(entry, where, "db_id")
        difficulty = field_of(entry, where, "difficulty", default="")
        questions.append(
            Question(
                id=field_of(entry, where, "question_id", default=str(position)),
                text=field_of(entry, where, "question").strip(),
                gold={"sqlite": field_of(entry, where, "SQL")},
                title=", ".join(filter(None, (database, difficulty))),
                database=database,
                difficulty=difficulty,
                evidence=field_of(entry, where, "evidence", default="").strip(),
            )
        )
    return unique_ids(questions, file)


def holds_questions(directory: Path) -> bool:
    """Whether a directory is BIRD's: its questions are there, and a folder of its databases."""
    return (directory / "dev_databases").is_dir() and _file(directory) is not None


def question_file(directory: Path) -> Path:
    """Return the file of questions in a directory of BIRD's.

    Raises:
        DataError: If there is none.
    """
    file = _file(directory)
    if file is None:
        raise DataError(f"{directory} is not BIRD's: it must hold {_HOLDS}")
    return file


def _file(directory: Path) -> Path | None:
    return next((path for name in _QUESTIONS if (path := directory / name).is_file()), None)


def unique_ids(questions: list[Question], file: Path) -> tuple[Question, ...]:
    """Return the questions if their ids tell them apart.

    Raises:
        DataError: If two have the same.
    """
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise DataError(f"{file} holds question {question.id!r} twice")
        seen.add(question.id)
    return tuple(questions)
