"""Opening engines by name."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bothends.engines import engine_names, open_engine
from bothends.engines.registry import without_password
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


@pytest.mark.parametrize(
    "spec", ["spark://", "spark://a b:7077", "spark://host:port", "spark://h:99999"]
)
def test_address_of_no_cluster(spec: str, items: Dataset) -> None:
    with pytest.raises(UsageError, match="write spark://host:7077"):
        open_engine(spec, items)


def test_a_cluster_needs_data() -> None:
    with pytest.raises(UsageError, match="--suite or --data"):
        open_engine("spark://host:7077")


@pytest.mark.parametrize(
    "spec",
    [
        *("sc://", "sc://:15002", "sc://host:port", "sc://host:1/path", "sc://h:1;token=hush"),
        *("sc://h:1/;token", "sc://h:1/;schema=", "sc://h:1/;schema=a;schema=b", "sc://u:hush@h:1"),
        *("sc://h:1/;wait=", "sc://h:1/;wait=-1", "sc://h:1/;wait=soon", "sc://h:1/;wait"),
    ],
)
def test_address_of_no_connect_server(spec: str) -> None:
    with pytest.raises(UsageError, match="write sc://host:15002") as caught:
        open_engine(spec)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["sc", "spark"])
def test_nobody_listens(scheme: str, items: Dataset) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(EngineError, match=f"127.0.0.1:{port}"):
            open_engine(f"{scheme}://127.0.0.1:{port}", items)


def test_what_listens_is_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bothends.engines.spark_remote.REACH_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(
            EngineError, match="does not answer as a Spark Connect server"
        ) as caught:
            open_engine(f"sc://127.0.0.1:{port}/;user_id=me;x-key=hush-hush")
        assert f"127.0.0.1:{port}" in str(caught.value)
        assert "hush" not in str(caught.value)


def test_a_server_that_comes_up_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bothends.engines.spark_remote.REACH_S", 0.2)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        # Nobody listens until the wait has begun: what is told last is not that of the first try.
        monkeypatch.setattr("bothends.engines.spark_remote.time.sleep", lambda _: server.listen())
        with pytest.raises(EngineError, match="cannot reach"):
            open_engine(f"sc://127.0.0.1:{port}")
        with pytest.raises(EngineError, match="does not answer"):
            open_engine(f"sc://127.0.0.1:{port}/;wait=1")


def test_what_is_shown_of_an_address() -> None:
    assert without_password("sc://h:1/;use_ssl=true;token=hush;schema=s;x-key=hush") == (
        "sc://h:1/;use_ssl=true;schema=s"
    )
    assert without_password("sc://h:1/;wait=9;schema=s") == "sc://h:1/;schema=s"
    assert without_password("sc://h:1/;token=hush") == "sc://h:1/"
    assert without_password("spark://h:7077") == "spark://h:7077"


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
