"""TPC-H tables in a directory of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from bothends.infra.errors import DataError
from bothends.infra.parquet import size, table_files
from bothends.infra.tpch_manifest import MANIFEST, Manifest, TableRecord, measure, record_of
from bothends.infra.tpch_plan import TablePlan

__all__ = ["LocalStore", "check_free", "locked"]

_SCRATCH: Final = ".making-"


class LocalStore:
    """A directory that is filled with tables.

    Args:
        directory: It; it need not be there yet.
    """

    by_part = False

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def manifest(self) -> Manifest | None:
        """Return what is recorded there; None where nothing is, or nothing readable."""
        try:
            return Manifest.model_validate_json((self._directory / MANIFEST).read_bytes())
        except (OSError, ValidationError):
            return None

    def whole(self, table: str, record: TableRecord) -> bool:
        """Tell whether a table is there as it was recorded, to the last byte."""
        entries = [path for path in self._entries(table) if table_files(path)]
        if len(entries) != 1:
            return False
        try:
            if record.sha256 is None:
                return size(entries[0]) == record.size
            return record_of(measure(entries[0])) == record
        except (DataError, OSError):
            return False

    def check_room(self, plans: Sequence[TablePlan]) -> None:
        """Refuse what cannot fit, before hours are spent on it.

        Raises:
            DataError: If the disk has less free than the tables take.
        """
        check_free(self._directory, sum(plan.size_bytes for plan in plans), "the tables take")

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a directory beside the tables, so that they are renamed and never copied.

        It has a name of its own each time: a generator that outlives its parent writes into one
        that is gone, and fails.
        """
        for old in self._directory.glob(f"{_SCRATCH}*"):
            shutil.rmtree(old, ignore_errors=True)
        scratch = self._directory / f"{_SCRATCH}{secrets.token_hex(4)}"
        scratch.mkdir(parents=True)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def add(self, table: str, entry: Path, *, first: bool) -> None:
        """Move a table into the directory, in place of what is there of it."""
        if first:
            for path in filter(Path.exists, self._entries(table)):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        entry.rename(self._directory / entry.name)

    def record(self, manifest: Manifest) -> None:
        """Write the manifest in place of the one before, whole or not at all."""
        scratch = self._directory / f".{MANIFEST}"
        scratch.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        scratch.replace(self._directory / MANIFEST)

    def _entries(self, table: str) -> tuple[Path, Path]:
        """Return the paths that a table may have."""
        return self._directory / f"{table}.parquet", self._directory / table


def check_free(directory: Path, needed_bytes: int, what: str) -> None:
    """Refuse what a disk has no room for.

    Args:
        directory: Where it would go; it need not be there yet.
        needed_bytes: What it takes, about.
        what: What takes it, as the message says it.

    Raises:
        DataError: If less is free.
    """
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    if needed_bytes > free_bytes:
        raise DataError(
            f"{what} about {needed_bytes / 1e9:,.1f} GB and {existing} has "
            f"{free_bytes / 1e9:,.1f} GB free; free some, give a smaller scale factor or another "
            "directory"
        )


@contextlib.contextmanager
def locked(directory: Path, finished: Path) -> Iterator[bool]:
    """Make a directory and hold it alone, waiting for whoever holds it now.

    The lock is on the directory itself, and ends with the process that holds it.

    Args:
        directory: The directory.
        finished: What it is renamed to when it is whole; where that is another path and there,
            nothing is left to do.

    Yields:
        Whether there is something left to do.
    """
    while True:
        if directory != finished and finished.exists():
            yield False
            return
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY)
        try:
            # Some network file systems lock no directories: there, only one should generate.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            if not _is(directory, handle):  # whoever held it has renamed it
                continue
            if directory != finished and finished.exists():
                with contextlib.suppress(OSError):
                    directory.rmdir()
                continue
            yield True
            return
        finally:
            os.close(handle)


def _is(directory: Path, handle: int) -> bool:
    try:
        return os.path.samestat(directory.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
