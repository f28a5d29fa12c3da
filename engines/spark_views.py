"""A data set's files as temporary views of one session, and their DDL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bothends.engines.names import TableName, TableNames
from bothends.engines.spark_catalog import is_partitioned, quoted

__all__ = ["ViewCatalog", "create_view"]


class ViewCatalog:
    """The views of a data set. Their DDL is written as Spark writes that of a table of files.

    Spark itself shows no DDL of a temporary view.

    Args:
        schemas: The schema (a `StructType`) of each view, by its name.
        paths: The absolute path of each view's files.

    Attributes:
        columns: The names of each view's columns.
    """

    def __init__(self, schemas: dict[str, Any], paths: Mapping[str, Path]) -> None:
        self._schemas = schemas
        self._paths = paths
        self.columns = {name: tuple(schema.fieldNames()) for name, schema in schemas.items()}
        self._names = TableNames("spark", lambda: (TableName("", name, True) for name in schemas))

    def tables(self) -> tuple[str, ...]:
        """Return the names of the views, sorted."""
        return tuple(sorted(self._schemas))

    def ddl(self, table: str) -> str:
        """Return a view's DDL, as that of a table.

        Raises:
            UnknownTableError: If there is no such view.
        """
        name = self._names.find(table).name
        columns = ",\n".join(f"  {_bare(f.name)} {_type(f.dataType)}" for f in self._schemas[name])
        return f"CREATE TABLE {_bare(name)} (\n{columns})\nUSING parquet"

    def identifier(self, table: str) -> str:
        """Return a view's name, quoted, as it is spelt; Spark's names ignore case.

        Raises:
            UnknownTableError: If there is no such view.
        """
        return quoted(self._names.find(table).name)

    def partitioned(self, name: str) -> bool:
        """Tell whether a view's files lie in Hive's partitions."""
        return name in self._paths and is_partitioned(self._paths[name])

    def described(self) -> str:
        """Return what tells these views from others: all DDL."""
        return repr([(table, self.ddl(table)) for table in self.tables()])


def create_view(name: str, path: Path | str) -> str:
    """Return the statement that makes a temporary view of Parquet files, in place.

    Args:
        name: The view's name.
        path: The absolute path, or the URI, of the file or of the directory of files.
    """
    location = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"CREATE TEMPORARY VIEW {quoted(name)} USING parquet OPTIONS (path '{location}')"


def _bare(name: str) -> str:
    """Return a name as Spark writes it in DDL: quoted where it has to be."""
    return name if re.fullmatch(r"(?!\d+\Z)\w+", name, re.ASCII) else quoted(name)


def _type(kind: Any) -> str:
    """Return a type as Spark writes it in DDL."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, ArrayType):
        return f"ARRAY<{_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    if isinstance(kind, StructType):
        fields = (f"{_bare(f.name)}: {_type(f.dataType)}" for f in kind)
        return f"STRUCT<{', '.join(fields)}>"
    return str(kind.simpleString()).upper()
