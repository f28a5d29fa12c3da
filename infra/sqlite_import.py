"""Brings a SQLite database over: each table as Parquet, with the keys that its data obeys."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from bothends.infra.errors import DataError
from bothends.infra.imported import MANIFEST, ImportManifest, read_manifest
from bothends.infra.sqlite_tables import TableWriter, Watcher
from bothends.infra.system import package_versions

__all__ = ["find_sqlite", "import_sqlite"]

# Raised whenever this module would write the same source differently.
_LAYOUT: Final = 1
# Beside the file itself, the layouts of BIRD and of Spider.
_FOLDERS: Final = ("dev_databases", "database", "databases")
_SUFFIXES: Final = (".sqlite", ".sqlite3", ".db")


def find_sqlite(source: Path) -> dict[str, Path]:
    """Return the SQLite files of a directory by the names of their databases.

    Args:
        source: A SQLite file; or a directory with `<db>/<db>.sqlite` or `<db>.sqlite` in it, or in
            its `dev_databases` (as BIRD has it) or `database` (as Spider has it).

    Raises:
        DataError: If there is none, or two have the same name.
    """
    if source.is_file():
        return {source.stem: source}
    if not source.is_dir():
        raise DataError(f"{source} does not exist; give a directory that holds SQLite databases")
    root = next((source / name for name in _FOLDERS if (source / name).is_dir()), source)
    found: dict[str, Path] = {}
    try:
        for path in sorted(root.iterdir()):
            inside = [path / f"{path.name}{suffix}" for suffix in _SUFFIXES]
            files = [path] if path.suffix in _SUFFIXES else inside
            for file in filter(Path.is_file, files):
                if file.stem in found:
                    raise DataError(
                        f"{found[file.stem]} and {file} have the same name; rename one of them"
                    )
                found[file.stem] = file
    except OSError as error:
        raise DataError(f"{root} cannot be listed: {error.strerror or error}") from error
    if not found:
        raise DataError(
            f"{root} holds no SQLite database; put <name>.sqlite or <name>/<name>.sqlite there"
        )
    return found


def import_sqlite(
    source: Path, directory: Path, watcher: Watcher = lambda *_: None
) -> ImportManifest:
    """Bring a SQLite database over into a directory of its own, once.

    Names are kept exactly. Each column gets one type that holds all of its values, text where
    there is no other; views become tables. A directory of the same source is left as it is, one of
    another is replaced, and it appears whole or not at all.

    Args:
        source: The SQLite file; it is opened for reading alone.
        directory: Where the Parquet files go.
        watcher: Is told how far it is.

    Returns:
        The manifest: what there is, and what did not fit.

    Raises:
        DataError: If the source cannot be read or the directory not be written.
    """
    sha256 = _sha256(source)
    digest = hashlib.sha256(f"{_LAYOUT} {sha256}".encode()).hexdigest()[:16]
    present = read_manifest(directory)
    if present is not None:
        if present.digest == digest:
            return present
    elif directory.exists() and any(directory.iterdir()):
        raise DataError(f"{directory} is there and no import; name another directory with --out")
    # A hidden sibling is filled and renamed when complete: what has the final name is whole.
    scratch = directory.with_name(f".{directory.name}.partial-{secrets.token_hex(4)}")
    try:
        scratch.mkdir(parents=True)
        with contextlib.closing(_open(source)) as connection:
            tables, misfits = TableWriter(connection, scratch, watcher).run()
        manifest = ImportManifest(
            layout=_LAYOUT,
            name=directory.name,
            source=source.name,
            source_sha256=sha256,
            digest=digest,
            versions={**package_versions(), "sqlite": sqlite3.sqlite_version},
            tables=tables,
            misfits=misfits,
        )
        (scratch / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
        if directory.exists():
            old = directory.with_name(f".{directory.name}.old-{secrets.token_hex(4)}")
            directory.rename(old)
            scratch.rename(directory)
            shutil.rmtree(old, ignore_errors=True)
        else:
            scratch.rename(directory)
    except OSError as error:
        present = read_manifest(directory)
        if present is not None and present.digest == digest:  # another process was first
            return present
        raise DataError(
            f"{directory} cannot be written ({error.strerror or error}); "
            "name another directory with --out"
        ) from error
    except sqlite3.Error as error:
        raise DataError(
            f"{source} cannot be read as a SQLite database: {error}; check that it is one, whole, "
            "and that nobody writes to it"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return manifest


def _sha256(source: Path) -> str:
    """Hash the file, and what stands in a log beside it."""
    log = source.with_name(f"{source.name}-wal")
    try:
        digest = hashlib.sha256()
        for path in filter(Path.is_file, (source, log)):
            with path.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
    except OSError as error:
        raise DataError(f"{source} cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def _open(source: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{source.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("BEGIN")  # One state of it, whoever else writes.
    return connection
