"""Spider 1.0 (https://yale-lily.github.io/spider) as it is distributed.

A directory with `dev.json` and the databases in `database/<db>/<db>.sqlite`. Its questions have no
ids: a question's id is its position in the file, counted from 0, as text.
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

__all__ = ["SpiderSuite"]

_HOLDS: Final = "dev.json and database"


class SpiderSuite(Suite):
    """Spider's development set. Gold is SQLite's."""

    name = "spider"
    scaled: ClassVar[bool] = False

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Every question, in the file's order."""
        file = data_directory(self.data, self.name, _HOLDS) / "dev.json"
        if not file.is_file():
            raise DataError(f"{file.parent} is not Spider's: it must hold {_HOLDS}")
        return tuple(
            Question(
                id=str(position),
                text=field_of(entry, where, "question").strip(),
                gold={"sqlite": field_of(entry, where, "query")},
                title=field_of(entry, where, "db_id"),
                database=field_of(entry, where, "db_id"),
            )
            for position, (where, entry) in enumerate(read_entries(file))
        )

    def dataset(
        self, scale_factor: float | None, root: Path, *, database: str = "", generate: bool = True
    ) -> Dataset:
        """Return one of the databases."""
        del generate
        no_scale_factor(scale_factor, self.name)
        folder = data_directory(root, self.name, _HOLDS) / "database"
        return find_database(folder, database, ("{0}/{0}.sqlite",))
