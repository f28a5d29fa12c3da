"""The suites by name. A suite is one folder or file, and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from bothends.eval.suites.base import Suite
from bothends.infra.errors import UsageError

__all__ = ["load_suite", "suite_names"]

_SUITES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tpch": "bothends.eval.suites.tpch.suite:TpchSuite",
    }
)


def suite_names() -> tuple[str, ...]:
    """Return the names of the suites, sorted."""
    return tuple(sorted(_SUITES))


def load_suite(name: str) -> Suite:
    """Return a suite by its name, importing it only now.

    Raises:
        UsageError: If there is no suite of that name; the message names those there are.
    """
    if name not in _SUITES:
        near = difflib.get_close_matches(name.lower(), _SUITES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UsageError(
            f"there is no suite {name!r}{hint} The suites are: {', '.join(suite_names())}"
        )
    module, _, attribute = _SUITES[name].partition(":")
    suite: Suite = getattr(import_module(module), attribute)()
    return suite
