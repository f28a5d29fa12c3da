"""The suites by name. A suite is one folder or file, and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from bothends.engines.registry import engine_name
from bothends.eval.suites.base import Suite
from bothends.infra.errors import UsageError

__all__ = ["SMALLEST_SCALE", "is_scaled", "load_suite", "suite_names"]

SMALLEST_SCALE: Final = 0.01
"""The scale factor of a suite that has some, where none is asked for."""

_SUITES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bird": "bothends.eval.suites.bird:BirdSuite",
        "spider": "bothends.eval.suites.spider:SpiderSuite",
        "tpch": "bothends.eval.suites.tpch.suite:TpchSuite",
    }
)

_FILES: Final = frozenset({".yaml", ".yml", ".jsonl"})


def suite_names() -> tuple[str, ...]:
    """Return the names of the suites, sorted."""
    return tuple(sorted(_SUITES))


def is_scaled(name: str) -> bool:
    """Return whether a suite's data comes at scale factors.

    Raises:
        UsageError: If there is no suite of that name.
    """
    return load_suite(name).scaled


def load_suite(name: str, data: Path | None = None, engine: str = "sqlite") -> Suite:
    """Return a suite, importing it only now.

    Args:
        name: A registered name, or the path of a YAML or JSONL file of questions.
        data: The directory that holds its data; a suite whose questions lie there needs it.
        engine: The engine that its questions are for: a name, or a name with an address.

    Raises:
        UsageError: If there is no suite of that name; the message names those there are.
    """
    if name not in _SUITES and Path(name).suffix in _FILES:
        if not Path(name).is_file():
            raise UsageError(f"there is no file {name!r}")
        from bothends.eval.suites.own import OwnSuite

        return OwnSuite(Path(name), data, engine_name(engine))
    if name not in _SUITES:
        near = difflib.get_close_matches(name.lower(), _SUITES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UsageError(
            f"there is no suite {name!r}{hint} The suites are: {', '.join(suite_names())}, "
            "or a .yaml or .jsonl file of questions"
        )
    module, _, attribute = _SUITES[name].partition(":")
    suite: Suite = getattr(import_module(module), attribute)(data, engine_name(engine))
    return suite
