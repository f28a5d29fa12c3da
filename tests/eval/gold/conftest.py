"""A small SQLite database of what makes other engines answer otherwise, and its import."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bothends.engines import Engine, Outcome, open_engine
from bothends.eval.compare import judge
from bothends.eval.gold.schema import Schema, schema_of
from bothends.eval.gold.translate import Translation, read_gold, translate
from bothends.infra.imported import imported_dataset, names_on
from bothends.infra.sqlite_import import import_sqlite

ODD = """
CREATE TABLE t (
    id INTEGER PRIMARY KEY, n INTEGER, m INTEGER, r REAL, s TEXT, u TEXT, day DATE,
    seen DATETIME, written TEXT
);
INSERT INTO t VALUES
    (1, 3, 2, 1.5, '12abc', 'Alpha', '2019-01-31', '2019-01-31 23:59:59', '2019-02-30'),
    (2, -7, 2, -2.25, ' 7 ', 'alpha', '2020-02-29', '2020-02-29 00:00:00', '2020-02-29T12:30'),
    (3, 0, 0, 0.0, 'abc', 'É' || char(8490), '2021-12-31', '2021-12-31 06:05:04', 'soon'),
    (4, NULL, 5, 123456.789, '-3.5e1x', 'a\\b%c_d', '1999-07-04', '1999-07-04 12:00:00', ''),
    (5, 10, -3, 1e20, '', '', NULL, NULL, NULL),
    (6, 2019, 7, 0.1, NULL, NULL, '2019-06-15', '2019-06-15 01:02:03', '2019-06-15 01:02:03.5'),
    (7, 9, 4, 2e-7, '0012', 'beta', '2000-01-01', '2000-01-01 00:00:00', '2000-13-01'),
    (8, 1, 1, -0.5, '5', 'Zeta Ω', '2024-03-31', '2024-03-31 10:20:30', '2024-03-31');
CREATE TABLE "Odd Name" ("Group" TEXT, "order" INTEGER, "T Id" INTEGER REFERENCES t (id));
INSERT INTO "Odd Name" VALUES
    ('x', 1, 1), ('x', 2, 2), ('y', 3, 3), ('y', NULL, 4), ('Z', 5, 5), (NULL, 6, 6);
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """SQLite and a target over the same data."""

    source: Engine
    target: Engine
    schema: Schema

    def translation(self, sql: str) -> Translation:
        return translate(read_gold(sql, self.schema), self.target.dialect)  # type: ignore[arg-type]

    def run(self, sql: str) -> tuple[Outcome, Outcome, Translation]:
        gold = self.source.execute(sql)
        translation = self.translation(sql)
        outcome = self.target.execute(translation.sql)
        return gold, outcome, translation

    def check(self, sql: str, *rules: str) -> str:
        """Hold a query against its translation, rows in order too; return the translation."""
        gold, outcome, translation = self.run(sql)
        assert gold.status == "ok", gold.error
        assert outcome.status == "ok", f"{outcome.error}\n{translation.sql}"
        verdict = judge(gold, outcome, gold_sql=sql, dialect="sqlite")
        assert verdict.ordered, f"{verdict.reason}\n{translation.sql}\n{gold.rows}\n{outcome.rows}"
        assert set(rules) <= set(translation.rules), translation.rules
        return translation.sql


def make_database(path: Path, script: str) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The database as it is, and the directory that it was imported into."""
    root = tmp_path_factory.mktemp("odd")
    path = make_database(root / "odd.sqlite", ODD)
    import_sqlite(path, root / "imported" / "odd")
    return path, root / "imported" / "odd"


@pytest.fixture(
    scope="session",
    params=["postgres", pytest.param("spark", marks=pytest.mark.slow)],
)
def pair(request: pytest.FixtureRequest, odd: tuple[Path, Path]) -> Iterator[Pair]:
    """SQLite beside each target, one for the whole session."""
    path, directory = odd
    dataset = imported_dataset(directory, request.param)
    names = names_on(request.param, ("t", "Odd Name"))
    spec = request.param
    if spec == "spark":
        spec = request.getfixturevalue("cluster").state.connect
    with open_engine(f"sqlite:///{path}") as source, open_engine(spec, dataset) as target:
        yield Pair(source, target, schema_of(dataset, names))
