"""The importer, on a database of everything that SQLite lets one store."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bothends.engines import open_engine
from bothends.infra.dataset import Dataset, ForeignKey
from bothends.infra.errors import DataError
from bothends.infra.imported import imported_dataset, imported_names, names_on, read_manifest
from bothends.infra.sqlite_import import find_sqlite, import_sqlite

NASTY = """
CREATE TABLE mixed (
    id INTEGER PRIMARY KEY, whole INTEGER, part INTEGER, amount DECIMAL(10, 2), loose,
    name TEXT, flag BOOLEAN, huge NUMERIC, never REAL, bytes BLOB, inf REAL
);
INSERT INTO mixed VALUES
    (1, 5, 1, 10, 'a', 'x', 1, 9223372036854775807, NULL, x'00ff', 9e999),
    (2, 'many', 2.5, 10.25, 7, x'c3a9', 0, 9300000000000000000, NULL, NULL, -9e999),
    (3, NULL, NULL, NULL, 2.5, '00501', NULL, 1.5, NULL, x'', NULL);
CREATE TABLE dates (day DATE, seen TIMESTAMP, odd DATE, written TEXT);
INSERT INTO dates VALUES
    ('2020-02-29', '2020-02-29 12:00:00', '2020-02-29', '2020-02-29'),
    (NULL, '1999-12-31 23:59:59', '2019-02-30', '2019-01-01');
CREATE TABLE "Select From" ("Group By" TEXT, "a-b (%)" INTEGER, "é" REAL, [x"y] TEXT);
INSERT INTO "Select From" VALUES ('g', 1, 2.0, 'q');
CREATE TABLE "../a/b" (x INTEGER);
CREATE TABLE empty (id INTEGER PRIMARY KEY, t TEXT, d DATE, b BLOB, r FLOAT, u);
CREATE TABLE parent (code TEXT PRIMARY KEY, label TEXT) WITHOUT ROWID;
INSERT INTO parent VALUES ('a', 'A'), ('b', 'B');
CREATE TABLE child (
    a INTEGER, b TEXT, good TEXT REFERENCES PARENT, bad TEXT REFERENCES parent (CODE),
    label TEXT REFERENCES parent (label), lost TEXT REFERENCES nowhere (id),
    number INTEGER REFERENCES parent, PRIMARY KEY (a, b)
);
INSERT INTO child VALUES (1, 'x', 'a', 'a', 'A', 'q', 1), (1, 'y', NULL, 'zzz', 'A', 'q', 1);
CREATE TABLE keyless (k TEXT PRIMARY KEY);
INSERT INTO keyless VALUES (NULL), ('k');
CREATE TABLE calculated (n INTEGER, twice INTEGER GENERATED ALWAYS AS (n * 2), s AS (n || '!'));
INSERT INTO calculated VALUES (21);
CREATE VIEW seen AS SELECT id, name || '?' AS asked FROM mixed WHERE id < 3;
CREATE VIEW broken AS SELECT * FROM gone;
CREATE TABLE text_of_all (t TEXT);
INSERT INTO text_of_all VALUES (CAST(x'61ff' AS TEXT)), ('n' || char(0) || 'l'), ('plain');
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "nasty.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(NASTY)
    return path


@pytest.fixture(scope="module")
def imported(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    directory = tmp_path_factory.mktemp("imported") / "nasty"
    import_sqlite(source, directory)
    return imported_dataset(directory)


def column(dataset: Dataset, table: str, name: str) -> tuple[str, list[Any]]:
    found = pq.read_table(dataset.tables[table])[name]
    return str(found.type), found.to_pylist()


@pytest.mark.parametrize(
    ("table", "name", "kind", "values"),
    [
        ("mixed", "id", "int64", [1, 2, 3]),
        ("mixed", "whole", "string", ["5", "many", None]),
        ("mixed", "part", "double", [1.0, 2.5, None]),
        ("mixed", "amount", "double", [10.0, 10.25, None]),
        ("mixed", "loose", "string", ["a", "7", "2.5"]),
        ("mixed", "name", "string", ["x", "X'C3A9'", "00501"]),
        ("mixed", "flag", "int64", [1, 0, None]),
        # The largest integer is none of a double's, and what is larger is no integer to SQLite.
        ("mixed", "huge", "string", ["9223372036854775807", "9.3e+18", "1.5"]),
        ("mixed", "never", "double", [None, None, None]),
        ("mixed", "bytes", "binary", [b"\x00\xff", None, b""]),
        ("mixed", "inf", "double", [float("inf"), float("-inf"), None]),
        ("dates", "day", "date32[day]", [dt.date(2020, 2, 29), None]),
        (
            "dates",
            "seen",
            "timestamp[us]",
            [dt.datetime(2020, 2, 29, 12), dt.datetime(1999, 12, 31, 23, 59, 59)],  # noqa: DTZ001
        ),
        ("dates", "odd", "string", ["2020-02-29", "2019-02-30"]),
        ("dates", "written", "string", ["2020-02-29", "2019-01-01"]),
        ("Select From", "a-b (%)", "int64", [1]),
        ("Select From", 'x"y', "string", ["q"]),
        ("../a/b", "x", "int64", []),
        ("empty", "id", "int64", []),
        ("empty", "d", "string", []),
        ("empty", "b", "binary", []),
        ("empty", "r", "double", []),
        ("empty", "u", "string", []),
        ("calculated", "twice", "int64", [42]),
        ("calculated", "s", "string", ["21!"]),
        ("seen", "asked", "string", ["x?", "é?"]),
        ("text_of_all", "t", "string", ["a\ufffd", "n\ufffdl", "plain"]),
    ],
)
def test_each_column_has_a_type_that_holds_its_values(
    imported: Dataset, table: str, name: str, kind: str, values: list[Any]
) -> None:
    assert column(imported, table, name) == (kind, values)


def test_tables_are_those_of_the_source(imported: Dataset) -> None:
    assert set(imported.tables) == {
        *("mixed", "dates", "Select From", "../a/b", "empty", "parent", "child", "keyless"),
        *("calculated", "seen", "text_of_all"),
    }
    assert all(path.parent == imported.directory for path in imported.tables.values())


def test_keys_that_the_data_obeys_are_kept(imported: Dataset) -> None:
    assert imported.primary_keys == {
        "mixed": ("id",),
        "empty": ("id",),
        "parent": ("code",),
        "child": ("a", "b"),
    }
    assert imported.foreign_keys == {"child": (ForeignKey(("good",), "parent"),)}


def test_what_does_not_fit_is_reported(imported: Dataset) -> None:
    manifest = read_manifest(imported.directory)
    assert manifest is not None
    found = {
        (each.table, each.column): (each.declared, each.became, each.count, each.examples)
        for each in manifest.misfits
    }
    left_out = "left out: the data does not obey it"
    assert found == {
        ("mixed", "whole"): ("INTEGER", "text", 1, ("'many'",)),
        ("mixed", "part"): ("INTEGER", "real", 1, ("2.5",)),
        ("mixed", "loose"): ("", "text", 2, ("7", "2.5")),
        ("mixed", "name"): ("TEXT", "text", 1, ("X'C3A9'",)),
        ("mixed", "huge"): ("NUMERIC", "text", 3, ("9223372036854775807", "9.3e+18", "1.5")),
        ("dates", "odd"): ("DATE", "text", 1, ("'2019-02-30'",)),
        ("broken", ""): ("view", found["broken", ""][1], 0, ()),
        ("text_of_all", "t"): (
            "text in UTF-8 without NUL characters",
            "text with U+FFFD in place of what is not",
            2,
            (),
        ),
        ("keyless", "k"): ("primary key", left_out, 1, ()),
        ("child", "bad"): ("foreign key to parent", left_out, 1, ("'zzz'",)),
        ("child", "label"): (
            "foreign key to parent",
            "left out: it is not to a primary key",
            0,
            (),
        ),
        ("child", "lost"): ("foreign key to nowhere", "left out: no table 'nowhere'", 0, ()),
        ("child", "number"): (
            "foreign key to parent",
            "left out: its columns differ in type",
            0,
            (),
        ),
    }
    assert found["broken", ""][1].startswith("left out: ")


def test_postgres_opens_it_with_names_and_types_kept(imported: Dataset) -> None:
    with open_engine("postgres", imported) as engine:
        assert {name.strip('"') for name in engine.list_tables()} == set(imported.tables)
        rows = engine.execute('SELECT "Group By", "a-b (%)", "é" FROM "Select From"').rows
        assert rows == (("g", 1, 2.0),)
        days = engine.execute("SELECT day FROM dates ORDER BY day").rows
        assert days == ((dt.date(2020, 2, 29),), (None,))


def test_the_same_source_is_imported_once(source: Path, tmp_path: Path) -> None:
    directory = tmp_path / "nasty"
    first = import_sqlite(source, directory)
    stamps = {path: path.stat().st_mtime_ns for path in directory.iterdir()}
    assert import_sqlite(source, directory) == first
    assert {path: path.stat().st_mtime_ns for path in directory.iterdir()} == stamps


def test_another_source_replaces_it(source: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.sqlite"
    changed.write_bytes(source.read_bytes())
    first = import_sqlite(changed, tmp_path / "out" / "db")
    with contextlib.closing(sqlite3.connect(changed)) as connection, connection:
        connection.execute("INSERT INTO parent VALUES ('c', 'C')")
    second = import_sqlite(changed, tmp_path / "out" / "db")
    assert first.digest != second.digest
    assert second.tables["parent"].rows == 3
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["db"]


def test_the_source_is_not_touched_and_a_failed_import_leaves_nothing(
    source: Path, tmp_path: Path
) -> None:
    before = hashlib.sha256(source.read_bytes()).hexdigest()

    def stop(table: str, done: int, total: int) -> None:
        if table == "dates":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_sqlite(source, tmp_path / "out" / "db", stop)
    assert imported_names(tmp_path / "out") == ()
    assert list((tmp_path / "out").iterdir()) == []
    assert hashlib.sha256(source.read_bytes()).hexdigest() == before
    assert [path.name for path in source.parent.iterdir()] == [source.name]


def test_rows_are_read_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE n (i INTEGER, s TEXT)")
        connection.execute(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) "
            "INSERT INTO n SELECT i, 'row ' || i FROM c"
        )
    seen: list[int] = []
    import_sqlite(path, tmp_path / "out", lambda table, done, total: seen.append(done))
    assert seen == [8192, 16384, 20000]
    table = pq.read_table(tmp_path / "out" / "n.parquet")
    assert table.num_rows == 20000
    assert table["s"][-1].as_py() == "row 20000"


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["dev_databases/a/a.sqlite", "dev_databases/b/b.sqlite"], ["a", "b"]),
        (["database/a/a.sqlite"], ["a"]),
        (["a.sqlite", "b.db", "note.txt"], ["a", "b"]),
        (["x/x.sqlite", "y/other.sqlite"], ["x"]),
    ],
)
def test_databases_are_found(tmp_path: Path, files: list[str], names: list[str]) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert list(find_sqlite(tmp_path)) == names


def test_what_cannot_be_imported_is_said(tmp_path: Path, source: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        find_sqlite(tmp_path / "missing")
    with pytest.raises(DataError, match="holds no SQLite database"):
        find_sqlite(tmp_path)
    (tmp_path / "text.sqlite").write_text("no database, but long enough to look like one" * 50)
    with pytest.raises(DataError, match="cannot be read as a SQLite database"):
        import_sqlite(tmp_path / "text.sqlite", tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DataError, match="is there and no import"):
        import_sqlite(source, tmp_path / "full")
    with pytest.raises(DataError, match="holds no imported database"):
        imported_dataset(tmp_path)


def test_spark_calls_tables_by_names_that_it_takes() -> None:
    tables = ["Plain", "two words", "two-words", "é"]
    assert list(names_on("spark", tables).values()) == ["Plain", "two_words", "two_words_", "_"]
    assert list(names_on("postgres", tables).values()) == tables
