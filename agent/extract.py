"""Finding the SQL in what a model wrote."""

from __future__ import annotations

import re

__all__ = ["extract_sql"]

_FENCE = re.compile(r"```[ \t]*(\w*)[ \t]*\n(.*?)```", re.DOTALL)
_STATEMENT = re.compile(r"(?:^|\n)\s*(\(*\s*(?:select|with)\b.*)", re.IGNORECASE | re.DOTALL)


def extract_sql(text: str) -> str | None:
    """Return the query in a reply: the last fenced SQL block, else a statement at a line's start.

    Args:
        text: The reply's text.

    Returns:
        The query without its closing semicolon, or None where there is none.
    """
    blocks = [
        body
        for language, body in _FENCE.findall(text)
        if language.lower() in {"", "sql", "sparksql", "spark", "sqlite", "postgresql"}
        and _STATEMENT.search(body)
    ]
    if blocks:
        return str(blocks[-1]).strip().rstrip(";").strip()
    if "```" in text:
        return None
    found = _STATEMENT.search(text)
    return found.group(1).split(";")[0].strip() if found else None
