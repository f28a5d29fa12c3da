"""What a SQLite column becomes: one type that holds each of its values, or else text.

SQLite types values, not columns: a declared type is a preference. So the data is asked first, and
the declared type only decides where the data leaves it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "ColumnKind",
    "Counts",
    "SqliteColumn",
    "affinity",
    "census_sql",
    "choose_kind",
    "quoted",
    "read",
]

ColumnKind = Literal["integer", "real", "text", "blob", "date", "timestamp"]
Affinity = Literal["integer", "real", "text", "blob", "numeric"]

# A double holds every integer up to here.
_EXACT: Final = 2**53
_FITTING: Final[dict[Affinity, tuple[str, ...]]] = {
    "integer": ("integer",),
    "real": ("real", "integer"),
    "numeric": ("integer", "real"),
    "text": ("text",),
    "blob": ("integer", "real", "text", "blob"),
}


@dataclass(frozen=True, slots=True)
class SqliteColumn:
    """A column as a SQLite file declares it.

    Attributes:
        name: Its name, as spelt.
        declared: Its declared type, as spelt; perhaps empty.
        not_null: Whether it is declared NOT NULL.
        key: Its place in the primary key, from 1; 0 where it is not in it.
    """

    name: str
    declared: str
    not_null: bool
    key: int

    @property
    def temporal(self) -> bool:
        """Whether its declared type speaks of dates or times."""
        return "DATE" in self.declared.upper() or "TIME" in self.declared.upper()


@dataclass(frozen=True, slots=True)
class Counts:
    """How many values of a column are what.

    Attributes:
        nulls: NULLs.
        integer: Integers.
        large: Integers that a double does not hold.
        real: Floating-point numbers.
        text: Texts.
        blob: Blobs.
        dates: Texts that are `YYYY-MM-DD`, of a day that exists.
        timestamps: Texts that are `YYYY-MM-DD HH:MM:SS`, of a moment that exists.
    """

    nulls: int = 0
    integer: int = 0
    large: int = 0
    real: int = 0
    text: int = 0
    blob: int = 0
    dates: int = 0
    timestamps: int = 0


def affinity(declared: str) -> Affinity:
    """Return a declared type's affinity (SQLite's documentation, "Datatypes", section 3.1)."""
    upper = declared.upper()
    if "INT" in upper:
        return "integer"
    if any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in upper or not upper.strip():
        return "blob"
    if any(word in upper for word in ("REAL", "FLOA", "DOUB")):
        return "real"
    return "numeric"


def census_sql(names: Sequence[str]) -> str:
    """Return the select list that counts what `Counts` has, in its order, for each column."""
    parts = []
    for name in names:
        it = quoted(name)
        parts += [
            f"count(*) - count({it})",
            f"count(CASE typeof({it}) WHEN 'integer' THEN 1 END)",
            f"count(CASE WHEN typeof({it}) = 'integer' AND {it} NOT BETWEEN -{_EXACT} AND {_EXACT} "
            "THEN 1 END)",
            *(f"count(CASE typeof({it}) WHEN '{kind}' THEN 1 END)" for kind in _STORED[1:]),
            *(
                # Moved by nothing, a day that does not exist becomes one that does.
                f"count(CASE WHEN typeof({it}) = 'text' AND {function}({it}, '+0 days') = "
                f"{it} COLLATE BINARY AND {it} >= '0001' THEN 1 END)"
                for function in ("date", "datetime")
            ),
        ]
    return ", ".join(parts)


_STORED: Final = ("integer", "real", "text", "blob")


def choose_kind(column: SqliteColumn, counts: Counts) -> tuple[ColumnKind, str]:
    """Choose what a column becomes.

    Integers stay integers, and become real beside reals where a double holds each of them. A
    column that is declared as a date or a timestamp becomes one where every value is such in ISO
    form. A mixture becomes text.

    Returns:
        The kind, and as an SQL condition on the column which of its values do not fit what was
        declared; empty where all do.
    """
    it = quoted(column.name)
    stored = {kind for kind in _STORED if getattr(counts, kind)}
    declared = affinity(column.declared)
    strange = stored - set(_FITTING[declared])
    kind: ColumnKind
    if column.temporal and stored == {"text"}:
        if counts.dates == counts.text:
            return "date", ""
        if counts.timestamps == counts.text:
            return "timestamp", ""
        return (
            "text",
            f"{it} IS NOT date({it}, '+0 days') AND {it} IS NOT datetime({it}, '+0 days')",
        )
    if not stored:
        kind = {"integer": "integer", "real": "real", "numeric": "real", "blob": "blob"}.get(
            declared, "text"
        )  # type: ignore[assignment]
        return ("text" if column.temporal or not column.declared else kind), ""
    if stored == {"integer", "real"} and not counts.large:
        kind = "real"
    elif len(stored) == 1:
        kind = stored.pop()  # type: ignore[assignment]
    else:
        kind = "text"
        strange = strange or stored - {"text"}
    if not strange:
        return kind, ""
    listed = ", ".join(f"'{each}'" for each in sorted(strange))
    return kind, f"typeof({it}) IN ({listed})"


def read(name: str, kind: ColumnKind) -> str:
    """Return the SQL expression that reads a column's values as what it has become."""
    it = quoted(name)
    if kind == "real":
        return f"CAST({it} AS REAL)"
    if kind == "text":
        return (
            f"CASE typeof({it}) WHEN 'text' THEN {it} WHEN 'blob' THEN quote({it}) "
            f"ELSE CAST({it} AS TEXT) END"
        )
    return it


def quoted(name: str) -> str:
    """Return a name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'
