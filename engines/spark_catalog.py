"""Tables in Spark's own DDL: how a Parquet file is registered, and how its DDL is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bothends.infra.errors import UnknownTableError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkCatalog", "clean_ddl", "create_table", "quoted"]

# A string literal of Spark SQL, with its escapes.
_LITERAL: Final = r"'(?:[^'\\]|\\.)*'"
_NOISE: Final = re.compile(
    r" COLLATE UTF8_BINARY|spark_catalog\.default\.|\nTBLPROPERTIES \([^)]*\)"
    rf"|\nLOCATION {_LITERAL}"
)


class SparkCatalog:
    """The tables that a Spark session sees.

    Args:
        ask: Runs a statement of ours; raises EngineError.
    """

    def __init__(self, ask: Callable[[str], pa.Table]) -> None:
        self._ask = ask

    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views, sorted."""
        return tuple(sorted(self._ask("SHOW TABLES").column("tableName").to_pylist()))

    def ddl(self, table: str) -> str:
        """Return SHOW CREATE TABLE, without what speaks of this machine.

        Raises:
            UnknownTableError: If there is no such table.
        """
        answer = self._ask(f"SHOW CREATE TABLE {self.identifier(table)}")
        return clean_ddl(answer.column("createtab_stmt")[0].as_py())

    def identifier(self, table: str) -> str:
        """Return a table's name, quoted, as the catalog spells it; Spark's names ignore case.

        Raises:
            UnknownTableError: If there is no such table.
        """
        names = self.tables()
        for name in names:
            if name.lower() == table.lower():
                return quoted(name)
        raise UnknownTableError(table, names)


def create_table(table: str, path: Path) -> str:
    """Return the statement that makes a table of Parquet files, in place.

    The columns are spelt out where their types are plain, which spares Spark a job per table;
    otherwise Spark infers them. NOT NULL is not said: Spark drops it from a table of files.

    Args:
        table: The table's name.
        path: The absolute path of the file or of the directory of files.
    """
    location = str(path).replace("\\", "\\\\").replace("'", "\\'")
    columns = _columns(path)
    listed = f" ({', '.join(columns)})" if columns else ""
    return f"CREATE TABLE {quoted(table)}{listed} USING parquet LOCATION '{location}'"


def clean_ddl(ddl: str) -> str:
    """Return SHOW CREATE TABLE's answer without default collations, paths and properties."""
    return _NOISE.sub("", ddl).strip()


def quoted(name: str) -> str:
    """Return a name as a quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


def _columns(path: Path) -> list[str]:
    """Return the columns' definitions, or nothing where one is better left to Spark."""
    import pyarrow.dataset as pad

    columns = []
    for field in pad.dataset(path, format="parquet").schema:
        kind = _type_name(field.type)
        if kind is None:
            return []
        columns.append(f"{quoted(field.name)} {kind}")
    return columns


def _type_name(kind: pa.DataType) -> str | None:
    import pyarrow as pa
    import pyarrow.types as pat

    if pat.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    # Timestamps are left out: an INT96 looks in Arrow like one without a time zone, and is not.
    names = {
        pa.bool_(): "BOOLEAN",
        pa.int8(): "TINYINT",
        pa.int16(): "SMALLINT",
        pa.int32(): "INT",
        pa.int64(): "BIGINT",
        pa.float32(): "FLOAT",
        pa.float64(): "DOUBLE",
        pa.string(): "STRING",
        pa.string_view(): "STRING",
        pa.binary(): "BINARY",
        pa.date32(): "DATE",
    }
    return names.get(kind)
