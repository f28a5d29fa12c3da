"""The record of what was generated: `manifest.json` beside the tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from bothends.infra.parquet import TableSize, size, table_files

__all__ = ["MANIFEST", "Manifest", "TablePart", "TableRecord", "measure", "record_of"]

MANIFEST: Final = "manifest.json"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TableRecord(_Record):
    """A table, as it was generated."""

    rows: int = Field(description="Rows.")
    size_bytes: int = Field(description="Bytes on disk.")
    parts: int = Field(1, description="Files.")
    sha256: str | None = Field(
        None,
        description="Hash of what `sha256sum` prints of its files, in order of their names; "
        "null in manifests of before it was taken.",
    )

    @property
    def size(self) -> TableSize:
        """Rows and bytes."""
        return TableSize(self.rows, self.size_bytes)


class Manifest(_Record):
    """What was generated, by what."""

    generator: str = Field(description="The program that generated the data.")
    version: str = Field(description="The program's version.")
    scale_factor: float = Field(description="The scale factor it was given.")
    tables: dict[str, TableRecord] = Field(
        description="Each table that is whole; one that is not here has not been finished."
    )


@dataclass(frozen=True, slots=True)
class TablePart:
    """One file of a table.

    Attributes:
        name: The file's name.
        size: Its rows and bytes.
        sha256: The hash of its contents.
    """

    name: str
    size: TableSize
    sha256: str


def measure(entry: Path) -> list[TablePart]:
    """Return what the files of a table are, read whole.

    Args:
        entry: A Parquet file, or a directory of them.

    Raises:
        DataError: If a file is not Parquet, is cut short, or cannot be read.
    """
    return [TablePart(file.name, size(file), _sha256(file)) for file in table_files(entry)]


def record_of(parts: Iterable[TablePart]) -> TableRecord:
    """Return the record of a table of these files, whatever their order."""
    parts = sorted(parts, key=lambda part: part.name)
    listing = "".join(f"{part.sha256}  {part.name}\n" for part in parts)
    return TableRecord(
        rows=sum(part.size.rows for part in parts),
        size_bytes=sum(part.size.size_bytes for part in parts),
        parts=len(parts),
        sha256=hashlib.sha256(listing.encode()).hexdigest(),
    )


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
