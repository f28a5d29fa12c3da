"""PostgreSQL's values as plain Python ones, and as text where Python has no such value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.composite import CompositeInfo, register_composite
from psycopg.types.string import TextLoader

__all__ = ["adapt_values", "type_names"]

# psycopg would make objects of these, which nothing downstream knows.
_AS_TEXT: Final = (
    *("uuid", "inet", "cidr", "int4range", "int8range", "numrange", "daterange", "tsrange"),
    *("tstzrange", "int4multirange", "int8multirange", "nummultirange", "datemultirange"),
    *("tsmultirange", "tstzmultirange"),
)
_USER_TYPES: Final = """
    SELECT t.typname, t.oid, t.typarray,
           coalesce(array_agg(a.attname::text ORDER BY a.attnum)
                    FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}'),
           coalesce(array_agg(a.atttypid ORDER BY a.attnum)
                    FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}')
    FROM pg_type t
    JOIN pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = t.typrelid AND t.typtype = 'c'
    WHERE t.typtype IN ('c', 'e')
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
    GROUP BY t.oid
"""


class _OrText(Loader):
    """Loads a value as another loader does, or its text where Python has no such value."""

    exact: ClassVar[type[Loader]]

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        self._load = self.exact(oid, context).load

    def load(self, data: Buffer) -> Any:
        try:
            return self._load(data)
        # Infinity, a year before 1 or after 9999, or 24:00:00.
        except (psycopg.DataError, OverflowError):
            return bytes(data).decode()


class _Zoneless(_OrText):
    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        try:
            return (
                value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value
            )
        except OverflowError:
            return bytes(data).decode()


class _Interval(_OrText):
    def load(self, data: Buffer) -> Any:
        text = bytes(data).decode()
        # psycopg would call a month 30 days, and infinity none.
        return text if re.search("mon|year|infinity", text) else super().load(data)


def adapt_values(connection: psycopg.Connection[Any]) -> None:
    """Have a connection return plain Python values.

    A timestamp with a zone is what a clock shows in UTC, without a zone. Composite values of a
    named type are dicts, anonymous ones tuples of text; arrays are lists; json is what it holds.
    A date, time or interval that Python cannot hold (`infinity`, a year before 1, months) is its
    text, and so are UUIDs, network addresses and ranges.

    Args:
        connection: A connection of ours; its user's own types are looked up.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    adapters = connection.adapters
    lenient: dict[str, type[_OrText]] = {
        **dict.fromkeys(("date", "timestamp", "time", "timetz"), _OrText),
        "timestamptz": _Zoneless,
        "interval": _Interval,
    }
    for name, base in lenient.items():
        # What psycopg itself would take is written in C.
        exact = adapters.get_loader(adapters.types[name].oid, Format.TEXT)
        adapters.register_loader(name, type(base.__name__, (base,), {"exact": exact}))
    for name in _AS_TEXT:
        adapters.register_loader(name, TextLoader)
    for name, oid, array_oid, fields, types in connection.execute(_USER_TYPES).fetchall():
        if fields:
            composite = CompositeInfo(
                name, oid, array_oid, field_names=fields, field_types=list(types)
            )
            register_composite(composite, connection, make_object=_dict)
        else:
            TypeInfo(name, oid, array_oid).register(connection)


def type_names(cursor: psycopg.Cursor[Any]) -> tuple[str, ...]:
    """Return the type of each column of a result, as PostgreSQL itself names it."""
    types = cursor.connection.adapters.types
    names = []
    for column in cursor.description or ():
        info = types.get(column.type_code)
        shown = column.type_display
        names.append(shown.replace(info.name, info.regtype or info.name, 1) if info else "unknown")
    return tuple(names)


def _dict(values: Sequence[Any], info: CompositeInfo) -> dict[str, Any]:
    return dict(zip(info.field_names, values, strict=True))
