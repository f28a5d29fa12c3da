"""Tables in Spark's own DDL: how a Parquet file is registered, and how its DDL is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["clean_ddl", "create_table", "quoted"]

# A string literal of Spark SQL, with its escapes.
_LITERAL: Final = r"'(?:[^'\\]|\\.)*'"
_NOISE: Final = re.compile(
    r" COLLATE UTF8_BINARY|spark_catalog\.default\.|\nTBLPROPERTIES \([^)]*\)"
    rf"|\nLOCATION {_LITERAL}"
)


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
