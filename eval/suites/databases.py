"""The databases of a suite that brings its own: SQLite files, or directories of Parquet tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError, UsageError
from bothends.infra.parquet import local_directory, parquet_dataset

__all__ = ["data_directory", "find_database", "no_scale_factor", "sqlite_dataset"]


def data_directory(data: Path | None, suite: str, holds: str) -> Path:
    """Return a suite's data directory, made absolute.

    Args:
        data: As the user gave it.
        suite: The suite's name, for messages.
        holds: What it must hold, in words.

    Raises:
        UsageError: If none was given.
        DataError: If it does not exist.
    """
    if data is None:
        raise UsageError(f"suite {suite!r} needs --data, a directory that holds {holds}")
    directory = local_directory(data)
    if not directory.exists():
        raise DataError(f"{directory} does not exist; give --data a directory that holds {holds}")
    return directory


def find_database(folder: Path, database: str, patterns: Sequence[str]) -> Dataset:
    """Return the database of a name in a folder.

    Args:
        folder: The folder.
        database: The name.
        patterns: Where its SQLite file may lie below the folder, `{0}` standing for the name.

    Raises:
        DataError: If none is there; the message names the path of the first pattern.
    """
    if not database or Path(database).name != database:
        raise DataError(f"{database!r} cannot be a database's name")
    for pattern in patterns:
        file = folder / pattern.format(database)
        if file.is_file():
            return sqlite_dataset(file, database)
    wanted = folder / patterns[0].format(database)
    raise DataError(f"database {database!r} is missing: there is no {wanted}")


def sqlite_dataset(file: Path, name: str) -> Dataset:
    """Return a SQLite file as a data set; engine `sqlite` opens it as it is, for reading alone.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    except OSError as error:
        raise DataError(f"database {file} cannot be read: {error.strerror or error}") from None
    return Dataset(
        name=name,
        scale_factor=None,
        directory=file.absolute().parent,
        tables={},
        digest=digest,
        sqlite=file.absolute(),
    )


def parquet_database(folder: Path, database: str) -> Dataset | None:
    """Return a database that is a directory of Parquet tables, or None where there is none."""
    directory = folder / database
    return parquet_dataset(directory) if database and directory.is_dir() else None


def no_scale_factor(scale_factor: float | None, suite: str) -> None:
    """Refuse a scale factor where the data has none.

    Raises:
        UsageError: If one was given.
    """
    if scale_factor is not None:
        raise UsageError(f"suite {suite!r} has no scale factors: leave --scale-factor out")
