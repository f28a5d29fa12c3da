"""The house's own rules, checked on its source: one-way imports, lazy libraries, small files."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
FLOORS = {"infra": 0, "engines": 1, "tools": 2, "agent": 3, "eval": 4, "bothends": 5}
IN_A_STRING = re.compile(rf"\A(bothends\.(?:{'|'.join(FLOORS)})(?:\.\w+)*)(?::\w+)?\Z")
FILES = sorted(path for folder in FLOORS for path in (ROOT / folder).rglob("*.py"))
MODULES = [path for path in FILES if path.name != "__main__.py"]  # which runs on import
NOT_OURS = {"__pycache__", "build", "data", "dist", "runs", "spark-warehouse"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "bothends" else ("bothends", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def folder_of(module: str) -> str:
    """Return the folder of a module; a plain `bothends.x` lives in the face."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FLOORS else "bothends"


def imported(tree: ast.AST, path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of every module of ours that a file imports, whenever it does so.

    Lazy imports and those for type checking only count like any other, and so do names of
    modules in strings, as a registry holds them.
    """
    package = module_name(path.with_name("__init__.py")).split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            # `from bothends import eval` names the module in its second half.
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = re.findall(IN_A_STRING, node.value)
        else:
            continue
        for name in names:
            if name.split(".")[0] == "bothends":
                yield node.lineno, name


def upward_imports(source: str, path: Path) -> list[str]:
    home = folder_of(module_name(path))
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for line, name in imported(ast.parse(source), path)
        if folder_of(name) != home and FLOORS[folder_of(name)] >= FLOORS[home]
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_downwards(path: Path) -> None:
    assert upward_imports(path.read_text(), path) == []


@pytest.mark.parametrize(
    ("folder", "source", "upward"),
    [
        ("tools", "import bothends.agent.record", True),
        ("tools", "from bothends import agent", True),
        ("tools", "from bothends.agent import Agent", True),
        ("tools", "from ..agent import Agent", True),
        ("tools", "def f():\n    import bothends.eval", True),
        ("tools", "if TYPE_CHECKING:\n    from bothends.eval import Trial", True),
        ("tools", "SUITES = {'tpch': 'bothends.eval.suites.tpch:Tpch'}", True),
        ("infra", "import bothends", True),
        ("tools", "from bothends.engines import Engine", False),
        ("tools", "from .text import table", False),
        ("eval", "from bothends.infra.errors import DataError", False),
        ("bothends", "from bothends.eval import Trial", False),
    ],
)
def test_the_check_sees_each_form_of_import(folder: str, source: str, upward: bool) -> None:
    assert bool(upward_imports(source, ROOT / folder / "example.py")) is upward


def test_help_loads_no_heavy_library() -> None:
    program = (
        "import sys\n"
        "import bothends\n"
        "from bothends.cli import main\n"
        "sys.argv = ['bothends', '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    heavy = {"duckdb", "jinja2", "langchain", "langchain_core", "langgraph", "numpy", "openai"}
    heavy |= {"grpc", "pandas", "pyarrow", "pyspark", "scipy", "sqlglot", "statsmodels"}
    assert "Usage" in run.stdout
    assert heavy & set(run.stderr.split()) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_names_are_declared_and_exist(path: Path) -> None:
    defined = {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    }
    module = importlib.import_module(module_name(path))
    declared = getattr(module, "__all__", None)
    assert declared is not None or not defined, "public names, but no __all__"
    assert [name for name in declared or () if not hasattr(module, name)] == []


def test_every_pydantic_field_is_described() -> None:
    for path in MODULES:
        importlib.import_module(module_name(path))
    undescribed = {
        f"{model.__module__}.{model.__qualname__}.{name}"
        for model in subclasses(BaseModel)
        if model.__module__.split(".")[0] == "bothends"
        for name in inspect.get_annotations(model)
        if name in model.model_fields and not is_described(model, name)
    }
    assert undescribed == set()


def is_described(model: type[BaseModel], name: str) -> bool:
    if model.model_fields[name].description:
        return True
    # A class that is a pydantic model only because LangChain's are says it in its docstring.
    foreign = any(base.__module__.startswith("langchain") for base in model.__mro__)
    return foreign and f"\n        {name}: " in (model.__doc__ or "")


def subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in model.__subclasses__():
        yield child
        yield from subclasses(child)


def repository_files() -> Iterator[Path]:
    for directory, folders, files in os.walk(ROOT):
        # In place: os.walk does not enter what is removed.
        folders[:] = [
            name
            for name in folders
            if name not in NOT_OURS and not name.endswith(".egg-info") and name[0] != "."
        ]
        # A worktree has a file where a clone has the folder.
        yield from (Path(directory, name) for name in files if name != ".git")
    yield ROOT / ".ci" / "run"


def test_no_file_names_the_machine_it_was_written_on() -> None:
    machine_paths = [*(f"/{name}/" for name in ("work", "root", "tmp/dev")), "../" + "shared"]
    found = []
    for path in repository_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {name}" for name in machine_paths if name in text]
    assert found == []
