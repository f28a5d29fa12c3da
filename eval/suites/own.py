"""A suite of the user's own: one file of questions, and a directory of databases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

from bothends.eval.suites.base import Question, Suite
from bothends.eval.suites.bird import unique_ids
from bothends.eval.suites.databases import (
    data_directory,
    find_database,
    no_scale_factor,
    parquet_database,
    sqlite_dataset,
)
from bothends.eval.suites.entries import field_of, read_entries
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError

__all__ = ["OwnSuite"]

_PATTERNS: Final = ("{0}/{0}.sqlite", "{0}.sqlite", "{0}/{0}.db", "{0}.db")
_HOLDS: Final = "the databases, as <db>/<db>.sqlite, <db>.sqlite or <db>/<table>.parquet"


class OwnSuite(Suite):
    """Questions in a YAML or JSONL file.

    Each is a mapping with `id`, `question` and `gold` (SQL, or SQL by engine), and as far as there
    are any `db`, `evidence`, `difficulty` and `dialect`: the one engine that gold is written for;
    without it gold is taken to run on every engine. BIRD's and Spider's names of the same fields
    are understood too.

    Args:
        file: The file.
        data: The directory that holds the databases.
        engine: The name of the engine that the questions are for.
    """

    scaled: ClassVar[bool] = False
    bound: ClassVar[bool] = False

    def __init__(self, file: Path, data: Path | None = None, engine: str = "sqlite") -> None:
        super().__init__(data, engine)
        self.file = file
        self.name = str(file)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Every question, in the file's order."""
        return unique_ids(
            [_question(entry, where) for where, entry in read_entries(self.file)], self.file
        )

    def dataset(
        self, scale_factor: float | None, root: Path, *, database: str = "", generate: bool = True
    ) -> Dataset:
        """Return one of the databases; `root` may itself be the only one, a SQLite file."""
        del generate
        no_scale_factor(scale_factor, self.name)
        folder = data_directory(root, self.name, _HOLDS)
        if folder.is_file():
            return sqlite_dataset(folder, database or folder.stem)
        if not database:
            raise DataError(
                f"{self.file}: a question names no 'db', and {folder} is not a database"
            )
        try:
            return find_database(folder, database, _PATTERNS)
        except DataError:
            tables = parquet_database(folder, database)
            if tables is None:
                raise
            return tables


def _question(entry: Mapping[str, Any], where: str) -> Question:
    database = field_of(entry, where, "db", "db_id", "database", default="")
    difficulty = field_of(entry, where, "difficulty", default="")
    return Question(
        id=field_of(entry, where, "id", "question_id"),
        text=field_of(entry, where, "question", "text").strip(),
        gold=_gold(entry, where),
        title=field_of(
            entry, where, "title", default=", ".join(filter(None, (database, difficulty)))
        ),
        database=database,
        difficulty=difficulty,
        evidence=field_of(entry, where, "evidence", default="").strip(),
    )


def _gold(entry: Mapping[str, Any], where: str) -> Mapping[str, str]:
    gold = entry.get("gold")
    if isinstance(gold, Mapping) and gold:
        return {str(engine): field_of(gold, where, engine) for engine in gold}
    sql = field_of(entry, where, "gold", "gold_sql", "SQL", "sql", "query")
    return {field_of(entry, where, "dialect", default="default"): sql}
