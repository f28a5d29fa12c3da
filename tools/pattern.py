"""Patterns by which a model narrows what it is shown."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

__all__ = ["Pattern", "matches"]

_QUOTES = str.maketrans("", "", '"`')


def _as_text(value: object) -> object:
    """Accept a list of patterns, and take what matches everything for none: models write both."""
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    if isinstance(value, str) and not value.strip(" ,*%"):
        return None
    return value


Pattern = Annotated[str | None, BeforeValidator(_as_text)]
"""A pattern as a tool's argument, or None for everything."""


def matches(pattern: str | None, name: str) -> bool:
    """Whether a name fits a pattern, whatever its case and its quotes.

    Args:
        pattern: What the name contains or, where it has a * or a ?, the form of the whole name;
            or several of these with commas between them. SQL's % is read as *.
        name: The name.
    """
    if pattern is None:
        return True
    spelt = {name.lower(), name.lower().translate(_QUOTES)}
    parts = (part.strip().lower().replace("%", "*") for part in pattern.split(","))
    return any(_fits(part, each) for part in parts if part for each in spelt)


def _fits(part: str, name: str) -> bool:
    if not set(part) & set("*?"):
        return part in name or part.translate(_QUOTES) in name
    form = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in part)
    return re.fullmatch(form, name, re.DOTALL) is not None
