"""The hostile statements with the guard switched off: what the engines themselves hold.

Each is run and explained in a throwaway database or server. Afterwards the data is the same, byte
by byte, and so is the catalog; no file was written, and none was read.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import Engine, Limits, open_engine
from bothends.engines.postgres import PostgresEngine
from bothends.infra.dataset import Dataset

from .corpus import hostile

# The engines whose second wall is tested; those that are slow to start.
ENGINES = ("sqlite", "postgres", "spark")
SLOW = ("spark",)
# What no setting of an engine closes: here the guard is the only wall. Declared, and what it
# amounts to is tested below.
UNHELD = {
    ("spark", "java_by_name"): (
        "Spark cannot do without reflect(): SQL can call any static method of Java that takes "
        "text and numbers, and so read the server's environment and settings or end the server"
    ),
}
LIMITS = Limits(timeout_s=60)
# Its statements take milliseconds, but for those that sleep.
POSTGRES_LIMITS = Limits(timeout_s=0.3)
# What a superuser sees of a server besides the data.
POSTGRES_STATE = (
    "SELECT rolname, rolsuper, rolcreatedb, rolpassword FROM pg_authid",
    "SELECT datname, datallowconn, datconnlimit, datacl::text FROM pg_database",
    "SELECT * FROM pg_db_role_setting",
    "SELECT name, setting FROM pg_settings WHERE source <> 'session' "
    "AND name NOT IN ('application_name', 'transaction_read_only')",
    "SELECT oid, relname, relfilenode, relacl::text, relowner FROM pg_class",
    "SELECT oid, proname, prosrc FROM pg_proc",
    "SELECT extname FROM pg_extension",
    "SELECT * FROM pg_sequences",
    "SELECT oid FROM pg_largeobject_metadata",
    "SELECT slot_name FROM pg_replication_slots",
    "SELECT description FROM pg_description WHERE objoid >= 16384",
    "SELECT name FROM pg_ls_dir('.') AS name UNION ALL SELECT name FROM pg_ls_dir('base') AS name",
    "SELECT md5(pg_read_file(name)) FROM unnest(ARRAY['postgresql.conf', 'postgresql.auto.conf', "
    "'pg_hba.conf', 'pg_ident.conf']) AS name",
)


class Yard:
    """An engine over two small tables, and a directory that nothing may be written to."""

    def __init__(self, name: str, root: Path) -> None:
        self.data = root / "data"
        self.data.mkdir()
        # Not below pytest's directory: a server's user, who may be another, could not go there.
        self.out = Path(tempfile.mkdtemp(prefix="bothends-out-"))
        self.out.chmod(0o777)
        tables = {"t": {"a": [1, 2, 3], "s": ["x", "y", "z"]}, "u": {"a": [1, 2, 3]}}
        for table, columns in tables.items():
            pq.write_table(pa.table(columns), self.data / f"{table}.parquet")
        dataset = Dataset(
            name="yard",
            scale_factor=None,
            directory=self.data,
            tables={table: self.data / f"{table}.parquet" for table in tables},
            primary_keys={},
            foreign_keys={},
            digest="0",
        )
        self.engine: Engine = open_engine(name, dataset, cores=1)
        self.limits = POSTGRES_LIMITS if name == "postgres" else LIMITS
        self.before = self.state()

    def statements(self, aim: str) -> list[str]:
        """The hostile statements of one aim, with their paths filled in."""
        return [
            sql.replace("{out}", str(self.out)).replace("{data}", str(self.data))
            for sql in hostile(self.engine.name)[aim]
        ]

    def state(self) -> dict[str, Any]:
        """Everything that a statement could have changed."""
        names = self.engine.list_tables()
        queries = ("SELECT count(*), sum(a), max(s) FROM t", "SELECT count(*), sum(a) FROM u")
        return {
            "catalog": [(name, self.engine.ddl(name)) for name in names],
            "answers": [self.engine._execute(sql, LIMITS).rows for sql in queries],
            "server": self.server(),
            "data": {
                path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(self.data.rglob("*"))
                if path.is_file() and "postgres" not in path.relative_to(self.data).parts
            },
            "written": sorted(str(path) for path in self.out.rglob("*")),
        }

    def server(self) -> list[Any]:
        """What a server holds besides the data, where there is one that tells."""
        if not isinstance(self.engine, PostgresEngine):
            return []
        with self.admin() as admin:
            return [sorted(map(repr, admin.execute(sql))) for sql in POSTGRES_STATE]

    def admin(self) -> psycopg.Connection[Any]:
        """A connection of the one who may do everything."""
        assert isinstance(self.engine, PostgresEngine)
        info = self.engine._ready().info
        return psycopg.connect(host=info.host, port=info.port, dbname=info.dbname, user="postgres")

    def close(self) -> None:
        """End the engine."""
        self.engine.close()
        shutil.rmtree(self.out)


class Yards(dict[str, Yard]):
    """The yards by their engine's name, each made when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __missing__(self, name: str) -> Yard:
        (self._root / name).mkdir()
        self[name] = Yard(name, self._root / name)
        return self[name]


@pytest.fixture(scope="module")
def yards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yards]:
    """The yards, for all tests of this file."""
    made = Yards(tmp_path_factory.mktemp("yards"))
    yield made
    for each in made.values():
        each.close()


@pytest.fixture
def yard(request: pytest.FixtureRequest, yards: Yards) -> Yard:
    """The yard of the engine that the test names."""
    return yards[request.param]


def marked(name: str, *values: str) -> Any:
    return pytest.param(name, *values, marks=[pytest.mark.slow] if name in SLOW else [])


@pytest.mark.parametrize(
    ("yard", "aim"),
    [marked(name, aim) for name in ENGINES for aim in hostile(name) if (name, aim) not in UNHELD],
    indirect=["yard"],
)
def test_engine_holds_without_the_guard(yard: Yard, aim: str) -> None:
    for sql in yard.statements(aim):
        for outcome in (yard.engine._execute(sql, yard.limits), yard.engine._explain(sql)):
            assert "root:" not in repr(outcome.rows), sql  # of /etc/passwd
    assert yard.state() == yard.before


@pytest.mark.parametrize("yard", [marked("spark")], indirect=True)
def test_spark_runs_nothing_but_queries(yard: Yard) -> None:
    for sql in ("SHOW TABLES", "SET a = b", "RESET", "CLEAR CACHE", "DESCRIBE t", "USE t"):
        outcome = yard.engine._execute(sql, LIMITS)
        assert outcome.status == "failed", sql
        assert (outcome.error or "").startswith("[PARSE_SYNTAX_ERROR]")
        assert "(line 1, pos 0)" in (outcome.error or "")


@pytest.mark.parametrize("yard", [marked("spark")], indirect=True)
def test_syntax_error_is_placed_as_the_query_was_written(yard: Yard) -> None:
    errors = {
        "SELECT a FRM t x": "at or near 't'. SQLSTATE: 42601 (line 1, pos 13)",
        "SELECT a\nFROM t GROUP a": "at or near 'a'. SQLSTATE: 42601 (line 2, pos 13)",
        "SELECT a\nFROM t)": "or its parentheses do not match. SQLSTATE: 42601",
        "SELECT (a": "or its parentheses do not match. SQLSTATE: 42601",
    }
    for sql, expected in errors.items():
        assert (yard.engine._execute(sql, LIMITS).error or "").endswith(expected)
        # With a semicolon and a comment it is the same query.
        assert (yard.engine._execute(sql + " ; -- x", LIMITS).error or "").endswith(expected)


@pytest.mark.parametrize("yard", [marked("spark")], indirect=True)
def test_spark_starts_no_program(yard: Yard) -> None:
    touched = yard.out / "touched"
    for program in ("cat", "", f"/usr/bin/touch {touched}", f"exec -c /usr/bin/touch {touched}"):
        sql = f"SELECT TRANSFORM (a) USING '{program}' AS b FROM t"
        outcome = yard.engine._execute(sql, LIMITS)
        assert outcome.status == "failed", program
        assert "126" in (outcome.error or ""), program
    assert not touched.exists()


@pytest.mark.parametrize("yard", [marked("spark")], indirect=True)
def test_what_is_not_held_changes_nothing_that_lasts(yard: Yard) -> None:
    assert ("spark", "java_by_name") in UNHELD
    for sql in yard.statements("java_by_name"):
        yard.engine._execute(sql, LIMITS)
    assert yard.state() == yard.before


@pytest.mark.parametrize("yard", [marked("spark")], indirect=True)
def test_what_is_not_held_reaches_no_key_of_ours(yard: Yard) -> None:
    # Ours are not in the server's environment: see Spark's own tests for what is.
    sql = "SELECT reflect('java.lang.System', 'getenv', 'PYTEST_CURRENT_TEST')"
    assert yard.engine._execute(sql, LIMITS).rows == (("null",),)


@pytest.mark.parametrize("yard", [marked("sqlite")], indirect=True)
def test_tables_made_by_functions_are_open(yard: Yard) -> None:
    query = "SELECT i.name FROM sqlite_master m, pragma_table_info(m.name) i WHERE m.name = 't'"
    assert yard.engine.execute(query).rows == (("a",), ("s",))
    assert yard.engine.execute("SELECT value FROM json_each('[7]')").rows == ((7,),)
