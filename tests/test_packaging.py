"""What a user installs: the wheel's contents, its metadata, and the pinned versions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]


def source_files() -> dict[str, Path]:
    """Return every file that belongs to the package, by its name in a wheel."""
    return {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}": path
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # From a copy: setuptools leaves a build folder, whose leftovers would enter the next wheel.
    source = tmp_path_factory.mktemp("source")
    for folder in FOLDERS.values():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, source / folder, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    dist = source / "dist"
    pip(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(dist), str(source)])
    (built,) = dist.iterdir()
    return built


def pip(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


@pytest.mark.slow
def test_the_wheel_holds_one_name_and_every_file(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    ours = {name for name in names if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in ours} == {"bothends"}
    assert ours == set(source_files())
    kinds = {Path(name).suffix for name in ours}
    assert {".html", ".jsonl", ".py", ".sh", ".sql", ".tf", ".typed", ".yaml"} <= kinds


@pytest.mark.slow
def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    told = metadata(wheel)
    assert told["Name"] == "bothends"
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Description-Content-Type"] == "text/markdown"
    assert told["Requires-Python"] == ">=3.11"
    assert told.get_payload() == (ROOT / "README.md").read_text()
    with ZipFile(wheel) as archive:
        (licence,) = (name for name in archive.namelist() if name.endswith("/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
        (scripts,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "bothends = bothends.cli:main" in archive.read(scripts).decode()


@pytest.mark.slow
def test_the_wheel_runs_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    pip(["install", "--no-deps", "--no-index", "--target", str(target), str(wheel)])
    environment = os.environ | {"PYTHONPATH": str(target)}

    def python(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=tmp_path,
            env=environment,
        ).stdout

    where = python("-c", "import bothends.eval.suites as suites; print(suites.__file__)")
    assert Path(where.strip()).is_relative_to(target)
    assert "Usage" in python("-m", "bothends", "--help")


def test_every_package_on_disk_is_declared() -> None:
    on_disk = {
        name.removesuffix("/__init__.py").replace("/", ".")
        for name in source_files()
        if name.endswith("/__init__.py")
    }
    assert on_disk == set(PYPROJECT["tool"]["setuptools"]["packages"])


@pytest.mark.parametrize("folder", ["agent", "engines", "eval", "infra", "tools"])
def test_lint_forbids_a_folder_as_a_top_level_import(folder: str) -> None:
    def lint(source: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ruff", "check", "--select", "TID251"]
        command += ["--no-cache", "--stdin-filename", "bothends/example.py", "-"]
        return subprocess.run(
            command, input=source, capture_output=True, text=True, cwd=ROOT, timeout=60
        )

    assert "TID251" in lint(f"import {folder}\n").stdout
    assert "TID251" in lint(f"from {folder} import name\n").stdout
    assert lint(f"import bothends.{folder}\n").returncode == 0


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    # Nothing but names and versions: no index, no links, no address.
    assert [line for line in pinned if not re.match(r"[\w.-]+==[\w.]+( ; |$)", line)] == []
    return dict(line.split(" ; ")[0].split("==") for line in pinned)


def declared() -> list[Requirement]:
    project = PYPROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(text) for texts in lists for text in texts]


@pytest.mark.parametrize("wanted", declared(), ids=str)
def test_every_dependency_is_pinned_within_its_bounds(wanted: Requirement) -> None:
    if wanted.name != "bothends":
        assert pins()[canonicalize_name(wanted.name)] in wanted.specifier
