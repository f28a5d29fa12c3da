"""A data set on disk: Parquet tables with their keys, at one scale factor, or a SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Dataset", "ForeignKey"]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of one table that point at the primary key of another."""

    columns: tuple[str, ...]
    references: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """Parquet files, or a SQLite file, that an engine can open or load.

    Attributes:
        name: What the data is, such as `tpch`.
        scale_factor: Its scale factor, or None where it has none.
        directory: The absolute directory that holds it; engines keep loaded copies beside it.
        tables: The absolute Parquet file (or directory of Parquet files) of each table, by name.
        primary_keys: The key columns of each table that has them, by table name.
        foreign_keys: The foreign keys of each table that has them, by table name.
        digest: A short hash of names, sizes and row counts: same digest, same data.
        sqlite: The SQLite file that it came from, which engine `sqlite` opens as it is; None where
            it did not.
    """

    name: str
    scale_factor: float | None
    directory: Path
    tables: Mapping[str, Path]
    primary_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    foreign_keys: Mapping[str, tuple[ForeignKey, ...]] = field(default_factory=dict)
    digest: str = ""
    sqlite: Path | None = None
