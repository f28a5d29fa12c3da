"""The bundle: all that a job imports and nothing of the rest, the same to the last byte."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bothends.eval.bundle import Bundle
from bothends.infra.errors import EngineError
from bothends.infra.system import bothends_version

# Runs where there is nothing but Python and the bundle, as on a cluster; pyspark is the cluster's.
_ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
import bothends.eval.job_work, bothends.eval.large, bothends.eval.judging
import pyarrow, pyarrow.compute, sqlglot
from bothends.engines.base import Outcome
from bothends.engines.guard import check_read_only
from bothends.eval.compare import judge
from bothends.infra.system import package_versions
assert check_read_only("DROP TABLE a", "spark") is not None
one = Outcome("ok", ("a",), ("int",), ((1,),), 1)
assert judge(one, one, gold_sql="SELECT 1 AS a", dialect="spark").exact
assert pyarrow.table({"a": [1]}).to_pylist() == [{"a": 1}]
print(package_versions()["bothends"])
homes = {m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)}
print(*(home for home in homes if "site-packages" in home))
"""


def test_it_is_all_that_the_job_needs(tmp_path: Path) -> None:
    for name, path in Bundle().files.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)
    about = tmp_path / f"bothends-{bothends_version()}.dist-info"
    about.mkdir()
    with zipfile.ZipFile(io.BytesIO(_small())) as archive:
        archive.extract(f"{about.name}/METADATA", tmp_path)
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _ALONE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:2] == [bothends_version(), ""]


def test_it_leaves_out_what_is_no_code() -> None:
    names = Bundle().files
    assert not [name for name in names if "__pycache__" in name or name.startswith("..")]
    assert not [name for name in names if "arrow_flight" in name or "/tests/" in name]
    assert not [name for name in names if "langchain" in name or name.endswith(".html")]
    assert sum(path.stat().st_size for path in names.values()) < 140e6


def test_the_same_files_are_the_same_zip_whenever_they_were_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bothends.eval.bundle._PACKAGES", ("typing-extensions",))
    one, other = Bundle(), Bundle()
    path = tmp_path / "typing_extensions.py"
    path.write_bytes(one.files["typing_extensions.py"].read_bytes())
    os.utime(path, (1e9, 1e9))
    other.files = {**other.files, "typing_extensions.py": path}
    assert one.name == other.name
    assert one.content() == other.content()
    path.write_text("# another")
    changed = Bundle()
    changed.files = other.files
    assert changed.name != one.name


def test_packages_that_cannot_be_had_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bothends.eval.bundle._PACKAGES", ("typing-extensions",))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(EngineError, match=r"for Python 3\.11 on s390x: .*No matching distribution"):
        Bundle(("3.11", "s390x"))
    assert list((tmp_path / "cache" / "bothends" / "job").iterdir()) == []


def _small() -> bytes:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("bothends.eval.bundle._PACKAGES", ("typing-extensions",))
        return Bundle().content()
