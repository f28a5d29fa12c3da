"""Opening engines by name."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bothends.engines import engine_names, open_engine
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, UsageError


def test_names() -> None:
    assert engine_names() == ("sqlite", "postgres", "spark")


def test_near_miss_is_guessed() -> None:
    with pytest.raises(UsageError, match="did you mean 'sqlite'"):
        open_engine("sqllite")


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match="sqlite, postgres, spark"):
        open_engine("oracle")


@pytest.mark.parametrize("name", ["sqlite", "postgres", "spark"])
def test_name_alone_needs_data(name: str) -> None:
    with pytest.raises(UsageError, match="--suite or --data"):
        open_engine(name)


@pytest.mark.parametrize("spec", ["sqlite://", "sqlite://file.db", "sqlite:///"])
def test_address_without_a_path(spec: str) -> None:
    with pytest.raises(UsageError, match=r"sqlite:///path/to\.db"):
        open_engine(spec)


def test_spark_takes_no_address(items: Dataset) -> None:
    with pytest.raises(UsageError, match="takes no"):
        open_engine("spark://host:7077", items)


def test_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    monkeypatch.chdir(tmp_path)
    for spec in (f"sqlite:///{tmp_path / 'own.db'}", "sqlite:///own.db"):
        with open_engine(spec) as engine:
            assert engine.list_tables() == ("t",)


def test_missing_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"missing\.db"):
        open_engine(f"sqlite:///{tmp_path / 'missing.db'}")
    assert list(tmp_path.iterdir()) == []


def test_engines_and_their_libraries_are_imported_late() -> None:
    heavy = "{'pyspark', 'pyarrow', 'pandas', 'grpc', 'psycopg', 'sqlglot', 'sqlite3'}"
    code = (
        f"import sys, bothends.engines; assert not {heavy} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
