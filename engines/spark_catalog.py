"""Tables in Spark's own DDL: how a Parquet file is registered, and how its DDL is shown."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bothends.engines import names
from bothends.engines.names import TableName, TableNames, unquoted
from bothends.infra.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SparkCatalog",
    "clean_ddl",
    "create_table",
    "is_partitioned",
    "quoted",
    "register_partitions",
]

# A string literal of Spark SQL, with its escapes, and a name.
_LITERAL: Final = r"'(?:[^'\\]|\\.)*'"
_NAME: Final = r"(?:`(?:[^`]|``)*`|\w+)"
_HEAD: Final = re.compile(rf"\A(CREATE (?:TABLE|VIEW) )(?:{_NAME}\.)*{_NAME}")
_PAIRS: Final = rf"\(\s*(?:{_LITERAL}\s*=\s*{_LITERAL}\s*,?\s*)*\)"
# Options may hold addresses and passwords.
_NOISE: Final = re.compile(
    rf"\n(?:TBLPROPERTIES|OPTIONS) {_PAIRS}|\nLOCATION {_LITERAL}| COLLATE UTF8_BINARY"
    rf"|(?P<kept>{_LITERAL}|`(?:[^`]|``)*`)"
)
_VIEW_COLUMNS: Final = re.compile(rf"\((?:\n  {_NAME}(?: COMMENT {_LITERAL})?,?)+\)")
_HIDDEN_SCHEMAS: Final = frozenset({"information_schema", "global_temp"})
_LISTERS: Final = 8
_FEW_TABLES: Final = 100
# What SHOW TABLE EXTENDED says of a table that holds while the table stays what it is.
_TELLING: Final = re.compile(
    r"(?:Table|Type|Provider|Comment|View Text|Partition Columns|Schema|View Schema): ?| \|"
)


class SparkCatalog:
    """The tables that a Spark session sees in its current catalog.

    A temporary view lies in no schema, and hides a table of its name in the current one.

    Args:
        ask: Runs a statement of ours, from any thread; raises EngineError.
    """

    def __init__(self, ask: Callable[[str], pa.Table]) -> None:
        self._ask = ask
        self._names = TableNames("spark", self._read)
        self._partitioned: dict[str, bool] = {}

    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views, sorted."""
        return tuple(self._names.all())

    def ddl(self, table: str) -> str:
        """Return SHOW CREATE TABLE, without what speaks of this machine.

        It is given to a temporary view, too, and a view's columns are given their types.

        Raises:
            UnknownTableError: If there is no such table.
        """
        found = self._names.find(table)
        shown, written = self._names.show(found), _written(found)
        if not found.schema:
            return f"CREATE TEMPORARY VIEW {shown} {self._columns(written)}"
        answer = self._ask(f"SHOW CREATE TABLE {written}")
        text = clean_ddl(answer.column("createtab_stmt")[0].as_py(), shown)
        if text.startswith("CREATE VIEW"):
            # A view over what is no longer there has its text alone.
            with contextlib.suppress(EngineError):
                columns = self._columns(written)
                return _VIEW_COLUMNS.sub(lambda _: columns, text, count=1)
        return text

    def identifier(self, table: str) -> str:
        """Return a table's name as SQL, quoted and spelt as in the catalog.

        Raises:
            UnknownTableError: If there is no such table.
        """
        return _written(self._names.find(table))

    def described(self) -> str:
        """Return what tells this catalog from another: all DDL, or of many tables less than that.

        Of many, each schema is asked once for the types and columns of all its tables.
        """
        tables = self._names.all()
        if len(tables) <= _FEW_TABLES:
            return repr([(table, self.ddl(table)) for table in tables])
        rows = set()
        for schema in {found.schema for found in tables.values()}:
            place = f" IN {quoted(schema)}" if schema else ""
            for row in self._ask(f"SHOW TABLE EXTENDED{place} LIKE '*'").to_pylist():
                lines = str(row["information"]).split("\n")
                telling = tuple(line for line in lines if _TELLING.match(line))
                rows.add((row["namespace"], row["tableName"], telling))
        return repr(sorted(rows))

    def partitioned(self, name: str) -> bool:
        """Tell whether a table is partitioned. The catalog is asked once for each.

        Args:
            name: The table's name as a plan has it: whole, and unquoted.
        """
        if name not in self._partitioned:
            written = ".".join(map(quoted, name.split(".")))
            try:
                rows = self._ask(f"DESCRIBE TABLE {written}").column("col_name").to_pylist()
            except EngineError:  # what has no such name is not in the catalog
                rows = []
            self._partitioned[name] = any(str(row).startswith("# Partition") for row in rows)
        return self._partitioned[name]

    def _read(self) -> Iterator[TableName]:
        """List the tables, by one question for each schema: Spark has none for all of them."""
        here = self._ask("SHOW TABLES").to_pylist()
        temporary = {row["tableName"] for row in here if row["isTemporary"]}
        home = {unquoted(row["namespace"]) for row in here if not row["isTemporary"]}
        for name in temporary:
            yield TableName("", name, bare=True)
        for row in here:
            if not row["isTemporary"]:
                hidden = row["tableName"] in temporary
                yield TableName(unquoted(row["namespace"]), row["tableName"], bare=not hidden)
        listed = self._ask("SHOW SCHEMAS").column(0).to_pylist()
        schemas = [name for part in listed if (name := unquoted(part)) not in home]
        schemas = [name for name in schemas if name.lower() not in _HIDDEN_SCHEMAS]
        with ThreadPoolExecutor(_LISTERS) as pool:
            questions = [f"SHOW TABLES IN {quoted(schema)}" for schema in schemas]
            for schema, answer in zip(schemas, pool.map(self._ask, questions), strict=True):
                for row in answer.to_pylist():
                    if not row["isTemporary"]:
                        yield TableName(schema, row["tableName"], bare=False)

    def _columns(self, written: str) -> str:
        """Return the list of a table's columns, with types and comments."""
        lines = []
        for row in self._ask(f"DESCRIBE TABLE {written}").to_pylist():
            if not row["col_name"] or row["col_name"].startswith("# Partition"):
                break
            lines.append(_column(row))
        return "(\n" + ",\n".join(lines) + ")"


def create_table(table: str, path: Path) -> str:
    """Return the statement that makes a table of Parquet files, in place.

    The columns are spelt out where their types are plain, which spares Spark a job per table;
    otherwise, and where directories are partitions, Spark infers them. NOT NULL is not said: Spark
    drops it from a table of files.

    Args:
        table: The table's name.
        path: The absolute path of the file or of the directory of files.
    """
    location = str(path).replace("\\", "\\\\").replace("'", "\\'")
    columns = [] if is_partitioned(path) else _columns(path)
    listed = f" ({', '.join(columns)})" if columns else ""
    return f"CREATE TABLE {quoted(table)}{listed} USING parquet LOCATION '{location}'"


def register_partitions(table: str) -> tuple[str, ...]:
    """Return the statements that have Spark find a new table's partitions, and their sizes.

    Of a table whose partitions it inferred Spark reads those that its catalog lists: none at first.

    Args:
        table: The table's name.
    """
    name = quoted(table)
    return f"MSCK REPAIR TABLE {name}", f"ANALYZE TABLE {name} COMPUTE STATISTICS NOSCAN"


def is_partitioned(path: Path) -> bool:
    """Tell whether a table's directory holds Hive's partitions: directories `key=value`."""
    return path.is_dir() and any("=" in each.name and each.is_dir() for each in path.iterdir())


def clean_ddl(ddl: str, shown: str) -> str:
    """Return SHOW CREATE TABLE's answer without default collations, paths, options and properties.

    Args:
        ddl: The answer.
        shown: What the table is called there, as in lists.
    """
    text = _NOISE.sub(lambda match: match["kept"] or "", ddl).strip()
    return _HEAD.sub(lambda match: match[1] + shown, text)


def quoted(name: str) -> str:
    """Return a name as a quoted identifier."""
    return names.quoted(name, "spark")


def _written(table: TableName) -> str:
    return ".".join(map(quoted, table.parts))


def _column(row: dict[str, Any]) -> str:
    name, kind, comment = row["col_name"], row["data_type"], row["comment"]
    # A type that holds others also holds names, which keep their case.
    kind = kind if "<" in kind else kind.upper()
    said = (comment or "").replace("\\", "\\\\").replace("'", "\\'")
    written = name if re.fullmatch(r"[^\W\d]\w*", name) else quoted(name)
    return f"  {written} {kind}" + (f" COMMENT '{said}'" if said else "")


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
