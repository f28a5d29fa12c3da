"""TPC-H as a suite: its 22 business questions, each with gold SQL.

The questions (`questions.yaml`) are this project's own wording, complete enough to write gold from
with nothing but the schema. Gold (`q01.sql` to `q22.sql`) runs unmodified on Spark, PostgreSQL and
DuckDB; `q07.sqlite.sql` and its like stand in where SQLite, which has no date type, needs another
text. The parameters are the validation values of clause 2.4 of the TPC-H specification, with one
difference: question 11's threshold is the constant 0.0001 at every scale factor, where clause
2.4.11 divides it by the scale factor, because a question must mean the same at every scale.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import yaml

from bothends.eval.suites.base import Question, Suite
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError
from bothends.infra.tpch import tpch_dataset

__all__ = ["TpchSuite"]


class TpchSuite(Suite):
    """The 22 TPC-H queries as questions; their ids are `1` to `22`."""

    name = "tpch"

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Every question, in the specification's order."""
        folder = Path(__file__).parent
        entries = yaml.safe_load((folder / "questions.yaml").read_text(encoding="utf-8"))
        return tuple(
            Question(
                id=str(number),
                text=entry["text"],
                gold=_gold(folder, number),
                title=entry["title"],
            )
            for number, entry in entries.items()
        )

    def dataset(
        self, scale_factor: float | None, root: Path, *, database: str = "", generate: bool = True
    ) -> Dataset:
        """Return the TPC-H data at a scale factor, generating it below `root` where it is missing.

        Raises:
            UsageError: If there is no scale factor.
            DataError: If it is missing and must not be generated, or is not of that scale.
        """
        del database
        if scale_factor is None:
            raise UsageError("suite 'tpch' needs a scale factor")
        return tpch_dataset(scale_factor, root, generate=generate)


def _gold(folder: Path, number: int) -> dict[str, str]:
    stem = f"q{number:02}"
    gold = {"default": folder / f"{stem}.sql"}
    # q07.sqlite.sql is gold for the engine named sqlite.
    gold |= {path.suffixes[0][1:]: path for path in folder.glob(f"{stem}.*.sql")}
    return {engine: path.read_text(encoding="utf-8").strip() for engine, path in gold.items()}
