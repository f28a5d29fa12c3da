"""Fills a place with TPC-H tables: those that are missing, each recorded once it is whole."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from bothends.infra.tpch_generator import (
    GENERATOR,
    TableProgress,
    Watcher,
    find_generator,
    generator_version,
    in_batches,
    run_batch,
)
from bothends.infra.tpch_manifest import Manifest, TablePart, TableRecord, measure, record_of
from bothends.infra.tpch_plan import TablePlan

__all__ = ["Store", "fill"]


class Store(Protocol):
    """Where tables go.

    Attributes:
        by_part: Whether each file is put away before the next is made.
    """

    by_part: bool

    def manifest(self) -> Manifest | None:
        """Return what is recorded there; None where nothing is, or nothing readable."""

    def whole(self, table: str, record: TableRecord) -> bool:
        """Tell whether a table is there as it was recorded."""

    def check_room(self, plans: Sequence[TablePlan]) -> None:
        """Refuse what cannot fit, before hours are spent on it.

        Raises:
            DataError: If there is less room than the tables take.
        """

    def scratch(self) -> AbstractContextManager[Path]:
        """Return an empty directory of this machine to make files in; it is removed after."""

    def add(self, table: str, entry: Path, *, first: bool) -> None:
        """Take files of a table out of the scratch directory.

        Args:
            table: The table.
            entry: The file, or the directory of files.
            first: Whether none was added before: what else there is of the table goes.
        """

    def record(self, manifest: Manifest) -> None:
        """Write the manifest in place of the one before, whole or not at all."""


def fill(
    store: Store,
    scale_factor: float,
    plans: Sequence[TablePlan],
    watcher: Watcher = lambda _: None,
) -> Manifest:
    """Make the tables that a place lacks.

    A table counts once the manifest has it, and as long as it is as that says. Whatever else is
    there, after a crash, say, is made anew.

    Args:
        store: The place.
        scale_factor: The scale factor.
        plans: The tables.
        watcher: Is told how far each is.

    Returns:
        The manifest, of all tables.

    Raises:
        DataError: If there is too little room, or the generator fails.
    """
    tables = _kept(store, scale_factor)
    missing = [plan for plan in plans if plan.table not in tables]
    store.check_room(missing)
    generator, version = find_generator(), generator_version()
    for plan in plans:
        if record := tables.get(plan.table):
            watcher(TableProgress(plan, record.parts, record.size_bytes, done=True))

    def manifest() -> Manifest:
        whole = {plan.table: tables[plan.table] for plan in plans if plan.table in tables}
        return Manifest(
            generator=GENERATOR, version=version, scale_factor=scale_factor, tables=whole
        )

    found: defaultdict[str, list[TablePart]] = defaultdict(list)

    def watch(progress: TableProgress) -> None:
        before = found[progress.plan.table]
        before_bytes = sum(part.size.size_bytes for part in before)
        watcher(
            replace(
                progress,
                parts=len(before) + progress.parts,
                size_bytes=before_bytes + progress.size_bytes,
            )
        )

    with store.scratch() as scratch:
        for batch in in_batches(missing, by_part=store.by_part):
            # Closed by us: the process must have ended before the scratch directory goes.
            with closing(run_batch(generator, batch, scale_factor, scratch, watch)) as made:
                for plan, entry in made:
                    parts = found[plan.table]
                    first = not parts
                    parts += measure(entry)
                    store.add(plan.table, entry, first=first)
                    _remove(entry)
                    if batch.part in (None, plan.parts):
                        tables[plan.table] = record = record_of(parts)
                        store.record(manifest())
                        watcher(TableProgress(plan, record.parts, record.size_bytes, done=True))
    return manifest()


def _kept(store: Store, scale_factor: float) -> dict[str, TableRecord]:
    """Return the tables that need not be made again."""
    present = store.manifest()
    same = (GENERATOR, generator_version(), scale_factor)
    if present is None or same != (present.generator, present.version, present.scale_factor):
        return {}
    return {table: record for table, record in present.tables.items() if store.whole(table, record)}


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)
