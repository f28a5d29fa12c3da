"""A database that was imported: Parquet files with a manifest that says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.dataset import Dataset, ForeignKey
from bothends.infra.errors import DataError
from bothends.infra.parquet import local_directory

__all__ = [
    "MANIFEST",
    "ImportManifest",
    "ImportedKey",
    "ImportedTable",
    "Misfit",
    "imported_dataset",
    "imported_names",
    "names_on",
    "read_manifest",
]

MANIFEST: Final = "import.json"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ImportedKey(_Model):
    """A foreign key that the data obeys."""

    columns: tuple[str, ...] = Field(description="Its columns, in the order of the other's key.")
    references: str = Field(description="The table whose primary key they point at.")


class ImportedTable(_Model):
    """A table, as it was written."""

    file: str = Field(description="Its Parquet file in the database's directory.")
    rows: int = Field(description="Its rows.")
    primary_key: tuple[str, ...] = Field((), description="The columns of its primary key.")
    foreign_keys: tuple[ImportedKey, ...] = Field((), description="The foreign keys that hold.")


class Misfit(_Model):
    """Something that could not be brought over as it was declared."""

    table: str = Field(description="The table or view.")
    column: str = Field(description="A column, or the columns of a key.")
    declared: str = Field(description="The declared type, or the key.")
    became: str = Field(description="What it has become.")
    count: int = Field(description="Values, or rows, that do not fit.")
    examples: tuple[str, ...] = Field((), description="A few of them.")


class ImportManifest(_Model):
    """What an imported database is, and where it came from."""

    layout: int = Field(description="The version of how an import is laid out.")
    name: str = Field(description="The database's name.")
    source: str = Field(description="The SQLite file's name.")
    source_sha256: str = Field(description="Of the SQLite file and its log.")
    digest: str = Field(description="Of the source and the layout: same digest, same data.")
    versions: dict[str, str] = Field(description="Of Python, SQLite and the packages.")
    tables: dict[str, ImportedTable] = Field(description="The tables by their names.")
    misfits: tuple[Misfit, ...] = Field((), description="What did not fit as declared.")


def imported_names(directory: Path) -> tuple[str, ...]:
    """Return the names of the imported databases in a directory, sorted."""
    names = (path.parent.name for path in directory.glob(f"*/{MANIFEST}"))
    return tuple(sorted(name for name in names if not name.startswith(".")))


def read_manifest(directory: Path) -> ImportManifest | None:
    """Return the manifest of an imported database, or None where there is none.

    Raises:
        DataError: If it cannot be read.
    """
    path = directory / MANIFEST
    if not path.exists():
        return None
    try:
        return ImportManifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise DataError(
            f"{path} cannot be read as an import's manifest; delete {directory} and import again"
        ) from error


def names_on(engine: str, tables: Iterable[str]) -> dict[str, str]:
    """Return what each table is called on an engine: its own name, where the engine takes it.

    Spark takes letters, digits and underscores, and ignores case.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for table in tables:
        name = re.sub(r"[^A-Za-z0-9_]", "_", table) if engine == "spark" else table
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        names[table] = name
    return names


def imported_dataset(directory: Path, engine: str = "") -> Dataset:
    """Return an imported database as a data set.

    Args:
        directory: The database's own directory.
        engine: The engine that it is for, where tables are to be called as `names_on` has it.

    Raises:
        DataError: If it is no import, or is not whole.
    """
    directory = local_directory(directory)
    manifest = read_manifest(directory)
    if manifest is None:
        raise DataError(
            f"{directory} holds no imported database; import one with: bothends data import"
        )
    names = names_on(engine, manifest.tables)
    tables = {names[name]: directory / table.file for name, table in manifest.tables.items()}
    lost = [str(path.name) for path in tables.values() if not path.is_file()]
    if lost:
        raise DataError(
            f"{directory} lacks {', '.join(lost)}; delete that directory and import again"
        )
    return Dataset(
        name=manifest.name,
        scale_factor=None,
        directory=directory,
        tables=tables,
        primary_keys={
            names[name]: table.primary_key
            for name, table in manifest.tables.items()
            if table.primary_key
        },
        foreign_keys={
            names[name]: tuple(
                ForeignKey(key.columns, names[key.references]) for key in table.foreign_keys
            )
            for name, table in manifest.tables.items()
            if table.foreign_keys
        },
        digest=manifest.digest,
    )
