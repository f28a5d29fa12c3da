"""SQLite's SQL as sqlglot reads it, with its functions left for the rules to translate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import sqlglot
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.parsers.sqlite import SQLiteParser

from bothends.infra.errors import BothendsError

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import DialectType

__all__ = ["UntranslatableError", "parse"]

# sqlglot would read these as functions of other engines, which differ in what matters here.
_OURS: Final = frozenset(
    {"DATE", "DATETIME", "TIME", "STRFTIME", "JULIANDAY", "UNIXEPOCH", "TYPEOF", "PRINTF"}
    | {"FORMAT", "CHAR", "HEX", "UNICODE", "QUOTE"}
)


class UntranslatableError(BothendsError):
    """A query says something that no rule can say faithfully on another engine."""


class _Source(SQLite):
    """SQLite, but for the functions that are ours."""

    class Parser(SQLiteParser):
        FUNCTIONS = {  # noqa: RUF012 - sqlglot's own way
            name: build for name, build in SQLiteParser.FUNCTIONS.items() if name not in _OURS
        }


def parse(sql: str) -> exp.Query:
    """Read one query of SQLite's.

    Raises:
        UntranslatableError: If it is not one that sqlglot can read.
    """
    try:
        read = sqlglot.parse(sql, dialect=cast("DialectType", _Source))
    except sqlglot.errors.SqlglotError as error:
        raise UntranslatableError(f"it cannot be read: {str(error).splitlines()[0]}") from error
    trees: list[Any] = [tree for tree in read if tree is not None]
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise UntranslatableError("it is not one query")
    query = trees[0]
    while isinstance(query, exp.Subquery) and not query.args.get("order"):
        query = query.this
    return query
