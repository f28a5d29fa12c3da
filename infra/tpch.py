"""TPC-H data: eight Parquet tables at a scale factor, generated once and checked at each use."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.dataset import Dataset, ForeignKey
from bothends.infra.errors import DataError
from bothends.infra.parquet import TableSize, data_digest, find_tables, local_directory, size

__all__ = ["Manifest", "tpch_dataset"]

_GENERATOR = "tpchgen-cli"
_BYTES_PER_SCALE_FACTOR = 350_000_000
"""What the generator's Parquet files take at scale factor 1, as measured."""
_MANIFEST = "manifest.json"

# Clause 1.4.2 of the TPC-H specification.
_PRIMARY_KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "region": ("r_regionkey",),
        "nation": ("n_nationkey",),
        "supplier": ("s_suppkey",),
        "customer": ("c_custkey",),
        "part": ("p_partkey",),
        "partsupp": ("ps_partkey", "ps_suppkey"),
        "orders": ("o_orderkey",),
        "lineitem": ("l_orderkey", "l_linenumber"),
    }
)
_FOREIGN_KEYS: Final[Mapping[str, tuple[ForeignKey, ...]]] = MappingProxyType(
    {
        "nation": (ForeignKey(("n_regionkey",), "region"),),
        "supplier": (ForeignKey(("s_nationkey",), "nation"),),
        "customer": (ForeignKey(("c_nationkey",), "nation"),),
        "partsupp": (
            ForeignKey(("ps_partkey",), "part"),
            ForeignKey(("ps_suppkey",), "supplier"),
        ),
        "orders": (ForeignKey(("o_custkey",), "customer"),),
        "lineitem": (
            ForeignKey(("l_orderkey",), "orders"),
            ForeignKey(("l_partkey",), "part"),
            ForeignKey(("l_suppkey",), "supplier"),
            ForeignKey(("l_partkey", "l_suppkey"), "partsupp"),
        ),
    }
)
# Clause 4.2.5.1: rows at scale factor 1; those of nation and region are the same at each.
_ROWS_AT_1: Final[Mapping[str, int]] = MappingProxyType(
    {
        "supplier": 10_000,
        "customer": 150_000,
        "part": 200_000,
        "partsupp": 800_000,
        "orders": 1_500_000,
    }
)
_FIXED_ROWS: Final[Mapping[str, int]] = MappingProxyType({"region": 5, "nation": 25})


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Table(_Record):
    rows: int = Field(description="Rows.")
    size_bytes: int = Field(description="Bytes on disk.")


class Manifest(_Record):
    """What was generated, by what: `manifest.json` beside the tables."""

    generator: str = Field(description="The program that generated the data.")
    version: str = Field(description="The program's version.")
    scale_factor: float = Field(description="The scale factor it was given.")
    tables: dict[str, _Table] = Field(description="Rows and bytes of each table.")


def tpch_dataset(scale_factor: float, root: Path, *, generate: bool = True) -> Dataset:
    """Return the TPC-H data at a scale factor, generating it where it is missing.

    Data that is there is checked before it is used: every table readable, as its manifest says,
    and with the row counts that clause 4.2.5 of the TPC-H specification fixes.

    Args:
        scale_factor: The scale factor; 1 is about 350 MB of Parquet.
        root: Data goes to `<root>/tpch/sf<scale factor>/`. A directory that itself holds the
            eight tables is used as it is.
        generate: Whether missing data may be generated.

    Returns:
        The data set, with primary and foreign keys.

    Raises:
        DataError: If the scale factor is not a positive number, or the data is missing,
            incomplete, unreadable, of another scale factor, or cannot be generated.
    """
    if not (math.isfinite(scale_factor) and scale_factor > 0):
        raise DataError(
            f"scale factor {scale_factor:g} is not a number above 0; give 0.01 or 1, say"
        )
    root = local_directory(root)
    if root.is_dir() and _PRIMARY_KEYS.keys() & find_tables(root).keys():
        return _open(root, scale_factor, "restore it, or name another directory")
    directory = root / "tpch" / f"sf{scale_factor:g}"
    if not directory.exists():
        if not generate:
            raise DataError(
                f"there is no TPC-H data at scale factor {scale_factor:g} below {root}; "
                "allow it to be generated, or give the directory that holds it"
            )
        _generate(directory, scale_factor)
    return _open(directory, scale_factor, "delete that directory to have it generated again")


def _open(directory: Path, scale_factor: float, remedy: str) -> Dataset:
    found = find_tables(directory) if directory.is_dir() else {}
    missing = [table for table in _PRIMARY_KEYS if table not in found]
    if missing:
        raise DataError(
            f"the TPC-H data in {directory} is incomplete, it lacks {', '.join(missing)}; {remedy}"
        )
    tables = {table: found[table] for table in _PRIMARY_KEYS}
    sizes = {table: size(path) for table, path in tables.items()}
    _check_manifest(directory, scale_factor, sizes, remedy)
    _check_rows(directory, scale_factor, sizes)
    return Dataset(
        name="tpch",
        scale_factor=scale_factor,
        directory=directory,
        tables=tables,
        primary_keys=_PRIMARY_KEYS,
        foreign_keys=_FOREIGN_KEYS,
        digest=data_digest(sizes),
    )


def _check_manifest(
    directory: Path, scale_factor: float, sizes: Mapping[str, TableSize], remedy: str
) -> None:
    path = directory / _MANIFEST
    if not path.exists():  # data of the user's own has none
        return
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise DataError(f"{path} cannot be read as a manifest; {remedy}") from error
    if manifest.scale_factor != scale_factor:
        raise DataError(
            f"the TPC-H data in {directory} is of scale factor {manifest.scale_factor:g}, "
            f"not {scale_factor:g}; ask for that one, or name another directory"
        )
    written = {
        name: TableSize(table.rows, table.size_bytes) for name, table in manifest.tables.items()
    }
    for table, now in sizes.items():
        if written.get(table) != now:
            raise DataError(
                f"table {table} in {directory} is not as it was generated (its rows or bytes "
                f"differ from the manifest's); {remedy}"
            )


def _check_rows(directory: Path, scale_factor: float, sizes: Mapping[str, TableSize]) -> None:
    expected = dict(_FIXED_ROWS) | {
        table: round(rows * scale_factor) for table, rows in _ROWS_AT_1.items()
    }
    for table, rows in expected.items():
        # A fractional scale factor is rounded to whole rows, and partsupp has four for each part.
        slack = 0 if table in _FIXED_ROWS else 4
        if abs(sizes[table].rows - rows) > slack:
            raise DataError(
                f"table {table} in {directory} has {sizes[table].rows:,} rows where scale factor "
                f"{scale_factor:g} has {rows:,}; name the data's own scale factor, or another "
                "directory"
            )
    orders, lines = sizes["orders"].rows, sizes["lineitem"].rows
    if not orders <= lines <= 7 * orders:  # clause 4.2.3: one to seven lines an order
        raise DataError(
            f"table lineitem in {directory} has {lines:,} rows, which cannot be for "
            f"{orders:,} orders of one to seven lines; restore it, or name another directory"
        )


def _check_room(directory: Path, scale_factor: float) -> None:
    """Refuse what cannot fit, before hours are spent on it."""
    needed_bytes = _BYTES_PER_SCALE_FACTOR * scale_factor
    existing = next(parent for parent in directory.parents if parent.exists())
    free_bytes = shutil.disk_usage(existing).free
    if needed_bytes > free_bytes:
        raise DataError(
            f"TPC-H at scale factor {scale_factor:g} takes about {needed_bytes / 1e9:,.1f} GB and "
            f"{existing} has {free_bytes / 1e9:,.1f} GB free; give a smaller scale factor or "
            "another directory"
        )


def _generate(directory: Path, scale_factor: float) -> None:
    _check_room(directory, scale_factor)
    # A sibling is filled and renamed when complete: what has the final name is always whole.
    partial = directory.with_name(f"{directory.name}.partial-{secrets.token_hex(4)}")
    try:
        try:
            partial.mkdir(parents=True)
        except OSError as error:
            raise DataError(
                f"{directory.parent} cannot be written ({error.strerror}); "
                "give a directory that can"
            ) from error
        _run_generator(partial, scale_factor)
        manifest = Manifest(
            generator=_GENERATOR,
            version=metadata.version(_GENERATOR),
            scale_factor=scale_factor,
            tables={
                table: _Table(rows=of.rows, size_bytes=of.size_bytes)
                for table, of in ((t, size(p)) for t, p in find_tables(partial).items())
            },
        )
        (partial / _MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
        try:
            partial.rename(directory)
        except OSError:
            if not directory.exists():  # otherwise another process was first: its data serves
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run_generator(directory: Path, scale_factor: float) -> None:
    command = [str(_generator()), "parquet", "--output-dir", str(directory)]
    command += ["--scale-factor", str(scale_factor)]
    # The generator draws its own progress bars; below scale factor 1 they would only flicker.
    quiet = scale_factor < 1 or not sys.stderr.isatty()
    command += ["--quiet"] if quiet else []
    done = subprocess.run(  # noqa: S603 - our own arguments, no shell
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE if quiet else None, text=True
    )
    if done.returncode != 0:
        said = (done.stderr or "").strip().splitlines()
        raise DataError(
            f"{_GENERATOR} could not generate TPC-H data at scale factor {scale_factor:g} in "
            f"{directory.parent}: {said[-1] if said else f'exit code {done.returncode}'}; "
            "free some space there, or give another directory"
        )


def _generator() -> Path:
    # Beside the interpreter first: a virtual environment need not be activated to be used.
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(_GENERATOR, path=places)
    if found is None:
        raise DataError(
            f"the program {_GENERATOR}, which generates TPC-H data, is not found; "
            f"install it with: pip install {_GENERATOR}"
        )
    return Path(found)
