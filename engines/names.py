"""What tables are called: as one would write them, and found again however they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from bothends.infra.errors import AmbiguousTableError, UnknownTableError

__all__ = ["TableName", "TableNames", "quoted", "unquoted"]

_PART: Final = r'"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[^."`\[\]]+'
_QUALIFIED: Final = re.compile(rf"\s*({_PART})\s*(?:\.\s*({_PART})\s*)?")
_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_OFFERED: Final = 20
_LIKENESS: Final = 0.6


class TableName(NamedTuple):
    """A table or view of a catalog.

    Attributes:
        schema: The schema that it lies in; empty where it lies in none.
        name: Its name there.
        bare: Whether a query finds it without its schema.
    """

    schema: str
    name: str
    bare: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """The schema, if there is one, and the name."""
        return (self.schema, self.name) if self.schema else (self.name,)


class TableNames:
    """The names of a catalog's tables, kept from one look to the next.

    A name is shown bare where a query finds it so, as `schema.table` elsewhere. A part is quoted
    unless it is a plain word (letters, digits and underscores, no digit first; in PostgreSQL
    without upper case, which an unquoted name loses). A reserved word stays bare: this is what a
    table is called, and a query quotes what its dialect asks it to.

    A table is found by the name that is shown, by the same name in other case or with the quotes
    of another dialect, and without its schema where that leaves one table. Only a name that is
    not known yet has the catalog read again.

    Args:
        dialect: The engine's dialect, whose quotes are shown.
        read: Reads the catalog.
    """

    def __init__(self, dialect: str, read: Callable[[], Iterable[TableName]]) -> None:
        self._dialect = dialect
        self._read = read
        self._shown: dict[str, TableName] | None = None
        self._alike: dict[str, list[TableName]] = {}

    def all(self) -> dict[str, TableName]:
        """Read the catalog, and return its tables by the names that are shown, sorted."""
        found = sorted((self.show(table), table) for table in self._read())
        self._shown = dict(found)
        self._alike = {}
        for _, table in found:
            self._alike.setdefault(table.name.lower(), []).append(table)
        return self._shown

    def show(self, table: TableName) -> str:
        """Return what a table is called in lists."""
        parts = (table.name,) if table.bare else table.parts
        return ".".join(map(self._written, parts))

    def find(self, asked: str) -> TableName:
        """Find a table.

        Args:
            asked: A name, as `all` shows it or as people and models write such.

        Raises:
            UnknownTableError: If there is none of this name.
            AmbiguousTableError: If there are several, in several schemas.
        """
        known = self._shown
        found = self._matching(asked) if known is not None else []
        if len(found) != 1:
            known = self.all()
            found = self._matching(asked)
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousTableError(asked, tuple(map(self.show, found[:_OFFERED])), len(found))
        raise self.unknown(asked)

    def unknown(self, asked: str) -> UnknownTableError:
        """Return the error that says that there is no such table, with the names nearest to it."""
        known = tuple(self._shown or ())
        near = known if len(known) <= _OFFERED else _nearest(asked, known)
        return UnknownTableError(asked, near, len(known))

    def _written(self, part: str) -> str:
        folded = self._dialect == "postgres" and part != part.lower()
        return quoted(part, self._dialect) if folded or not _PLAIN.fullmatch(part) else part

    def _matching(self, asked: str) -> list[TableName]:
        shown = (self._shown or {}).get(asked)
        if shown is not None:
            return [shown]
        match = _QUALIFIED.fullmatch(asked)
        parts = [unquoted(part) for part in match.groups() if part] if match else []
        # The second reading takes a name with a dot in it that came without quotes.
        return self._read_as(parts) or self._read_as([asked.strip()])

    def _read_as(self, parts: list[str]) -> list[TableName]:
        if not parts:
            return []
        name, schema = parts[-1], parts[0] if len(parts) == 2 else None
        alike = [
            table
            for table in self._alike.get(name.lower(), ())
            if schema is None or table.schema.lower() == schema.lower()
        ]
        if schema is None:
            alike = [table for table in alike if table.bare] or alike
        for spelt in (name, name.lower()):
            if same := [table for table in alike if table.name == spelt]:
                return [table for table in same if table.schema == schema] or same
        return alike


def quoted(name: str, dialect: str) -> str:
    """Return a name as a quoted identifier of a dialect."""
    quote = "`" if dialect == "spark" else '"'
    return quote + name.replace(quote, quote * 2) + quote


def unquoted(part: str) -> str:
    """Return a part of a name without its quotes, whichever dialect's they are."""
    part = part.strip()
    if len(part) >= 2 and part[0] == part[-1] and part[0] in '"`':
        return part[1:-1].replace(part[0] * 2, part[0])
    return part[1:-1] if part.startswith("[") and part.endswith("]") else part


def _nearest(asked: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that resemble one, the most alike first, then those that hold it."""
    from difflib import get_close_matches

    wanted = asked.strip("\"'`[] ").lower()
    spelt: dict[str, list[str]] = {}
    for name in known:
        # With the schema and without.
        for key in {name.lower(), name.lower().rpartition(".")[2]}:
            spelt.setdefault(key.strip('"`'), []).append(name)
    close = [
        name for key in get_close_matches(wanted, spelt, _OFFERED, _LIKENESS) for name in spelt[key]
    ]
    holding = [name for name in known if wanted and wanted in name.lower()]
    return tuple(dict.fromkeys(close + holding))[:_OFFERED] or known[:_OFFERED]
