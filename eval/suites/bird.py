"""BIRD (https://bird-bench.github.io) as it is distributed: questions over many SQLite databases.

A directory with `dev.json` or mini-dev's `mini_dev_sqlite.json`, and the databases in
`dev_databases/<db>/<db>.sqlite`. Each question comes with evidence and a difficulty.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from bothends.eval.suites.base import Question, Suite
from bothends.eval.suites.databases import data_directory, find_database, no_scale_factor
from bothends.eval.suites.entries import field_of, read_entries
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError

__all__ = ["BirdSuite", "unique_ids"]

_QUESTIONS: Final = ("dev.json", "mini_dev_sqlite.json")
_HOLDS: Final = "dev.json (or mini_dev_sqlite.json) and dev_databases"


class BirdSuite(Suite):
    """BIRD dev, mini-dev, or whatever else has their layout. Gold is SQLite's."""

    name = "bird"
    scaled: ClassVar[bool] = False

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Every question, in the file's order."""
        directory = data_directory(self.data, self.name, _HOLDS)
        file = next((path for name in _QUESTIONS if (path := directory / name).is_file()), None)
        if file is None:
            raise DataError(f"{directory} is not BIRD's: it must hold {_HOLDS}")
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

    def dataset(
        self, scale_factor: float | None, root: Path, *, database: str = "", generate: bool = True
    ) -> Dataset:
        """Return one of the databases."""
        del generate
        no_scale_factor(scale_factor, self.name)
        folder = data_directory(root, self.name, _HOLDS) / "dev_databases"
        return find_database(folder, database, ("{0}/{0}.sqlite",))


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
