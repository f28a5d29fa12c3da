"""TPC-H data: eight Parquet tables at a scale factor, generated once and checked at each use."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from pydantic import ValidationError

from bothends.infra.dataset import Dataset, ForeignKey
from bothends.infra.errors import DataError
from bothends.infra.parquet import TableSize, data_digest, find_tables, local_directory, size
from bothends.infra.tpch_fill import fill
from bothends.infra.tpch_generator import Watcher
from bothends.infra.tpch_local import LocalStore, locked
from bothends.infra.tpch_manifest import MANIFEST, Manifest
from bothends.infra.tpch_plan import PART_BYTES, check_scale_factor, plan_tables

__all__ = ["make_tpch", "tpch_dataset"]

_Keys = TypeVar("_Keys")
# Below it the formula for a part's four suppliers, of clause 4.2.3, repeats some.
_LEAST_WITH_KEYS: Final = 0.01
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


def tpch_dataset(scale_factor: float, root: Path, *, generate: bool = True) -> Dataset:
    """Return the TPC-H data at a scale factor, generating it where it is missing.

    Data that is there is checked before it is used: every table readable, as its manifest says,
    and with the row counts that clause 4.2.5 of the TPC-H specification fixes.

    Args:
        scale_factor: The scale factor; 1 is about 360 MB of Parquet.
        root: Data goes to `<root>/tpch/sf<scale factor>/`. A directory that itself holds the
            eight tables is used as it is.
        generate: Whether missing data may be generated.

    Returns:
        The data set, with primary and foreign keys.

    Raises:
        DataError: If the scale factor is not a positive number, or the data is missing,
            incomplete, unreadable, of another scale factor, or cannot be generated.
    """
    check_scale_factor(scale_factor)
    root = local_directory(root)
    if _holds_tables(root):
        return _open(root, scale_factor, "restore it, or name another directory")
    directory = root / "tpch" / f"sf{scale_factor:g}"
    if not directory.exists():
        if not generate:
            raise DataError(
                f"there is no TPC-H data at scale factor {scale_factor:g} below {root}; "
                "allow it to be generated, or give the directory that holds it"
            )
        _generate(directory, scale_factor, PART_BYTES, lambda _: None)
    return _open(
        directory,
        scale_factor,
        "delete that directory to have it generated again, or mend it with `bothends data tpch`",
    )


def make_tpch(
    scale_factor: float,
    root: Path,
    watcher: Watcher = lambda _: None,
    *,
    part_bytes: int = PART_BYTES,
) -> Dataset:
    """Return the TPC-H data at a scale factor, generating the tables that are missing or damaged.

    What was generated before is completed, where `tpch_dataset` would refuse it.

    Args:
        scale_factor: The scale factor.
        root: As for `tpch_dataset`.
        watcher: Is told how far each table is.
        part_bytes: A table gets one file for each so many bytes, and at least one.

    Returns:
        The data set.

    Raises:
        DataError: As for `tpch_dataset`, but where the data is this project's own and of this
            scale factor.
    """
    check_scale_factor(scale_factor)
    root = local_directory(root)
    directory = root / "tpch" / f"sf{scale_factor:g}"
    if not _holds_tables(root) and not directory.exists():
        _generate(directory, scale_factor, part_bytes, watcher)
    try:
        return tpch_dataset(scale_factor, root, generate=False)
    except DataError:
        present = LocalStore(directory).manifest()
        if _holds_tables(root) or present is None or present.scale_factor != scale_factor:
            raise
        _generate(directory, scale_factor, part_bytes, watcher)
    return tpch_dataset(scale_factor, root, generate=False)


def _holds_tables(root: Path) -> bool:
    return root.is_dir() and bool(_PRIMARY_KEYS.keys() & find_tables(root).keys())


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
        primary_keys=_kept(_PRIMARY_KEYS, scale_factor, "partsupp"),
        foreign_keys=_kept(_FOREIGN_KEYS, scale_factor, "lineitem"),
        digest=data_digest(sizes),
    )


def _kept(keys: Mapping[str, _Keys], scale_factor: float, table: str) -> Mapping[str, _Keys]:
    """Return the keys that data obeys: too few suppliers supply a part twice (clause 4.2.3)."""
    if scale_factor >= _LEAST_WITH_KEYS:
        return keys
    return {name: key for name, key in keys.items() if name != table}


def _check_manifest(
    directory: Path, scale_factor: float, sizes: Mapping[str, TableSize], remedy: str
) -> None:
    path = directory / MANIFEST
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
    for table, now in sizes.items():
        written = manifest.tables.get(table)
        if written is None or written.size != now:
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


def _generate(directory: Path, scale_factor: float, part_bytes: int, watcher: Watcher) -> None:
    """Fill a sibling and rename it when complete, or mend what has the final name already."""
    plans = plan_tables(scale_factor, part_bytes)
    mending = directory.exists()
    partial = directory if mending else directory.with_name(f"{directory.name}.partial")
    store = LocalStore(partial)
    if store.manifest() is None:  # before anything is written
        store.check_room(plans)
    try:
        with locked(partial, directory) as something_to_do:
            if not something_to_do:
                return
            try:
                fill(store, scale_factor, plans, watcher)
                if not mending:
                    _rename(partial, directory)
            finally:
                if not mending and (directory.exists() or store.manifest() is None):
                    shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise DataError(
            f"{directory.parent} cannot be written ({error.strerror or error}); "
            "give a directory that can"
        ) from error


def _rename(partial: Path, directory: Path) -> None:
    try:
        partial.rename(directory)
    except OSError:
        if not directory.exists():  # otherwise another process was first: its data serves
            raise
