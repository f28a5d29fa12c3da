"""Parquet files on disk as a data set: which tables a directory holds, and how large they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError

__all__ = [
    "TableSize",
    "data_digest",
    "find_tables",
    "local_directory",
    "parquet_dataset",
    "size",
    "table_files",
]

# Two letters or more before the colon: `s3:`, `gs:`, `hdfs:`, and not the drive letter of `C:`.
_REMOTE = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class TableSize:
    """How large a table is.

    Attributes:
        rows: Rows, as the files' footers state them.
        size_bytes: Bytes of its files on disk.
    """

    rows: int
    size_bytes: int


def parquet_dataset(directory: Path) -> Dataset:
    """Return a directory of Parquet tables as a data set without keys or scale factor.

    Args:
        directory: Holds a file `<table>.parquet`, or a directory of Parquet files, per table.

    Returns:
        The data set, named after the directory.

    Raises:
        DataError: If the directory is missing, remote, or holds no readable Parquet table.
    """
    directory = local_directory(directory)
    if not directory.is_dir():
        raise DataError(f"{directory} is not a directory; give one that holds Parquet tables")
    tables = find_tables(directory)
    if not tables:
        raise DataError(
            f"{directory} holds no Parquet table; put a file <table>.parquet, or a directory of "
            "Parquet files, there for each table, or name a suite, which has data of its own"
        )
    sizes = {table: size(path) for table, path in tables.items()}
    return Dataset(
        name=directory.name,
        scale_factor=None,
        directory=directory,
        tables=tables,
        digest=data_digest(sizes),
    )


def local_directory(path: Path) -> Path:
    """Return a path made absolute, if it is one of this machine's.

    Raises:
        DataError: If it is an address such as `s3://bucket/prefix`.
    """
    # A Path has already made one slash of the two in s3://.
    if _REMOTE.match(path.as_posix()):
        scheme = path.as_posix().partition(":")[0]
        raise DataError(
            f"data in {scheme}:// cannot be read or generated from here; "
            "give a directory on this machine"
        )
    return path.expanduser().absolute()


def find_tables(directory: Path) -> dict[str, Path]:
    """Return the Parquet file, or directory of Parquet files, of each table, by name.

    A table is `<table>.parquet` (a file, or a directory as Spark writes them) or a directory
    `<table>` with Parquet files in it. Hidden entries and those that start with an underscore are
    bookkeeping and passed over.

    Raises:
        DataError: If the directory cannot be listed, or two entries have the same table's name.
    """
    tables: dict[str, Path] = {}
    try:
        for path in sorted(directory.iterdir()):
            if path.name.startswith((".", "_")) or not table_files(path):
                continue
            table = path.name.removesuffix(".parquet")
            if table in tables:
                raise DataError(
                    f"{directory} holds table {table!r} twice, as {tables[table].name} and "
                    f"{path.name}; remove one of them"
                )
            tables[table] = path
    except OSError as error:
        raise DataError(f"{directory} cannot be listed: {error.strerror or error}") from error
    return tables


def size(path: Path) -> TableSize:
    """Return a table's size from its files' footers, without reading the rows.

    Args:
        path: A Parquet file, or a directory of them.

    Raises:
        DataError: If a file is not Parquet, is cut short, or cannot be read.
    """
    import pyarrow.parquet  # lazy: slow to import

    rows = size_bytes = 0
    for file in table_files(path):
        try:
            rows += pyarrow.parquet.read_metadata(file).num_rows
            size_bytes += file.stat().st_size
        except (OSError, ValueError) as error:
            raise DataError(
                f"{file} is not a readable Parquet file ({_first_line(error)}); "
                "restore it, or delete the data set and make it again"
            ) from error
    return TableSize(rows=rows, size_bytes=size_bytes)


def data_digest(sizes: Mapping[str, TableSize]) -> str:
    """Return a short hash of tables' names, rows and bytes, the same wherever the files lie."""
    facts = sorted((table, of.rows, of.size_bytes) for table, of in sizes.items())
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def table_files(path: Path) -> list[Path]:
    """Return the Parquet files of a table: the file itself, or those of a directory, by name."""
    if path.is_file():
        return [path] if path.suffix == ".parquet" else []
    inside = ((file, file.relative_to(path)) for file in path.rglob("*.parquet") if file.is_file())
    return sorted(
        file
        for file, below in inside
        # What lies deeper is a table's only where it is partitioned: `<column>=<value>/`.
        if all("=" in part for part in below.parts[:-1])
        and not any(part.startswith((".", "_")) for part in below.parts)
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
