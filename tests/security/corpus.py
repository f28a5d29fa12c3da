"""The statements of this folder, read from its files."""

from __future__ import annotations

from pathlib import Path

import yaml

__all__ = ["DIALECTS", "harmless", "hostile"]

DIALECTS = ("sqlite", "postgres", "spark")
_FOLDER = Path(__file__).parent


def hostile(dialect: str) -> dict[str, list[str]]:
    """Return the hostile statements of a dialect by what they are after."""
    return _read(f"hostile.{dialect}.yaml")


def harmless(dialect: str) -> list[str]:
    """Return the harmless queries of a dialect."""
    return _read("harmless.yaml")[dialect]


def _read(name: str) -> dict[str, list[str]]:
    statements: dict[str, list[str]] = yaml.safe_load((_FOLDER / name).read_text("utf-8"))
    return statements
