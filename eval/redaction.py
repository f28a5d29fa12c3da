"""The user's own function that redacts result cells: named, imported, and told by name."""

from __future__ import annotations

import importlib
import sys
from datetime import date
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Final, cast

from bothends.infra.errors import UsageError
from bothends.tools.text import Redaction

__all__ = ["load_redaction", "name_of", "tried"]

_CELLS: Final = (str, bytes, int, float, Decimal, date, NoneType)


def load_redaction(name: str | None) -> Redaction | None:
    """Import a function by its name, from the working directory too.

    Args:
        name: `module:function`; None for none.

    Raises:
        UsageError: If there is no such function, importing its module fails, or it fails itself.
    """
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = attrgetter(attribute)(importlib.import_module(module))
    except Exception as error:
        raise UsageError(
            f"the redacting function {name!r} cannot be imported ({type(error).__name__}: "
            f"{error}): name it as module:function, of a module that is installed or lies in "
            "the working directory"
        ) from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise UsageError(f"{name!r} is no function: it must take a column's name and a value")
    return tried(cast(Redaction, found))


def tried(function: Redaction) -> Redaction:
    """Return a function that redacts, after one try: a run is not paid for to find out.

    Raises:
        UsageError: If it fails on a text, or returns what is no value of a cell.
    """
    try:
        returned = function("column", "text")
    except Exception as error:
        raise UsageError(
            f"the redacting function {name_of(function)} fails on a column's name and a text "
            f"({type(error).__name__}: {error}): mend it"
        ) from error
    if not isinstance(returned, _CELLS):
        raise UsageError(
            f"the redacting function {name_of(function)} returned a {type(returned).__name__} for "
            "a text: it must return what takes its place, a text or null, say"
        )
    return function


def name_of(function: Redaction) -> str:
    """Return what the record calls a function: `module:function`."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', type(function).__module__)}:{name}"
