"""Runs the program that generates TPC-H data, and tells of each table when it is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from bothends.infra.errors import DataError
from bothends.infra.system import usable_cores
from bothends.infra.tpch_plan import TablePlan

__all__ = [
    "GENERATOR",
    "Batch",
    "TableProgress",
    "Watcher",
    "find_generator",
    "generator_version",
    "in_batches",
    "run_batch",
]

GENERATOR: Final = "tpchgen-cli"
_POLL_S: Final = 0.1
_IN_PROGRESS: Final = ".inprogress"


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far a table is.

    Attributes:
        plan: What it is expected to be.
        parts: Its files that are whole.
        size_bytes: Bytes of it so far.
        done: Whether it is whole, and recorded.
    """

    plan: TablePlan
    parts: int
    size_bytes: int
    done: bool = False


Watcher = Callable[[TableProgress], None]
"""Is told how far each table is, several times a second."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one process of the generator makes.

    Attributes:
        plans: The tables; several only where each is one file.
        part: The only part to make, from 1, or None for all.
    """

    plans: tuple[TablePlan, ...]
    part: int | None = None


def in_batches(plans: list[TablePlan], *, by_part: bool) -> Iterator[Batch]:
    """Divide the work among processes of the generator.

    Each takes most of a second before its first row, so small tables share one; and each keeps
    all cores busy, so they run one after the other.

    Args:
        plans: The tables to make.
        by_part: Whether each part is made alone, so that no more than one has to be held.
    """
    if single := tuple(plan for plan in plans if plan.parts == 1):
        yield Batch(single)
    for plan in plans:
        if plan.parts > 1 and by_part:
            yield from (Batch((plan,), part) for part in range(1, plan.parts + 1))
        elif plan.parts > 1:
            yield Batch((plan,))


def find_generator() -> Path:
    """Return the program.

    Raises:
        DataError: If it is not installed.
    """
    # Beside the interpreter first: a virtual environment need not be activated to be used.
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(GENERATOR, path=places)
    if found is None:
        raise DataError(
            f"the program {GENERATOR}, which generates TPC-H data, is not found; "
            f"install it with: pip install {GENERATOR}"
        )
    return Path(found)


def generator_version() -> str:
    """Return the program's version."""
    return metadata.version(GENERATOR)


def run_batch(
    generator: Path, batch: Batch, scale_factor: float, scratch: Path, watcher: Watcher
) -> Generator[tuple[TablePlan, Path], None, None]:
    """Generate, and yield each table with the file or directory that holds it once it is whole.

    The generator renames a file when it has written all of it, so what has its name is whole. Close
    this to end the process early.

    Args:
        generator: The program.
        batch: What to make.
        scale_factor: The scale factor.
        scratch: An empty directory to make it in.
        watcher: Is told how far it is.

    Raises:
        DataError: If the program fails; its last words are in the message.
    """
    command = [str(generator), "parquet", "--output-dir", str(scratch), "--quiet"]
    command += ["--scale-factor", str(scale_factor), "--num-threads", str(usable_cores())]
    command += ["--tables", ",".join(plan.table for plan in batch.plans)]
    parts = batch.plans[0].parts
    command += ["--parts", str(parts)] if parts > 1 else []
    command += ["--part", str(batch.part)] if batch.part else []
    left = list(batch.plans)
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(  # noqa: S603 - our own arguments, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        try:
            running = True
            while running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
                    running = False
                for plan in tuple(left):
                    entry = scratch / (plan.table if plan.parts > 1 else f"{plan.table}.parquet")
                    made, size_bytes = _look(entry)
                    watcher(TableProgress(plan, made, size_bytes))
                    # One of several files is waited for: its table may not be whole before.
                    if running and (plan.parts > 1 or not made):
                        continue
                    if not running and process.returncode != 0:
                        continue
                    left.remove(plan)
                    yield plan, entry
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            said.seek(0)
            words = said.read().strip().splitlines()
            raise DataError(
                f"{GENERATOR} could not generate TPC-H data at scale factor {scale_factor:g} in "
                f"{scratch.parent}: {words[-1] if words else _ending(process.returncode)}; "
                "free some space there, or give another directory"
            )


def _look(entry: Path) -> tuple[int, int]:
    """Return how many files of a table are whole, and the bytes of all."""
    folder, stem = (entry, "") if not entry.suffix else (entry.parent, entry.name)
    made = size_bytes = 0
    with contextlib.suppress(FileNotFoundError):  # not begun, or renamed while we look
        for file in folder.iterdir():
            if file.name.removesuffix(_IN_PROGRESS).startswith(stem):
                size_bytes += file.stat().st_size
                made += file.suffix == ".parquet"
    return made, size_bytes


def _ending(returncode: int) -> str:
    return f"ended by signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
