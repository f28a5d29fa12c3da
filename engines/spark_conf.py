"""What a local Spark server is started with, from the machine and the size of the data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from bothends.infra.dataset import Dataset

__all__ = ["SparkConf"]

_MIB: Final = 2**20
_NO_WRITER: Final = "org.apache.spark.internal.io.FileCommitProtocol"
# Parquet is about three to four times as large once decoded: a quarter of Spark's usual 200 MB.
_BYTES_PER_PARTITION: Final = 64 * _MIB
_SMALL_BYTES: Final = 128 * _MIB
# On small data most of the work is loading classes, compiling, and growing the heap: no optimising
# compiler, no collector with threads of its own, and room from the start.
_QUICK: Final = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-Xms1g", "-Xmn600m", "-XX:MetaspaceSize=256m"),
)
_MEMORY_SHARE: Final = 4
_MEMORY_MB: Final = (1_024, 16_384)


@dataclass(frozen=True, slots=True)
class SparkConf:
    """The settings of one server.

    Attributes:
        cores: Cores that Spark may use.
        memory_mb: The most heap that it may take.
        shuffle_partitions: Partitions after a shuffle, before Spark merges small ones.
        small: Whether the data is so small that warming up costs more than running.
    """

    cores: int
    memory_mb: int
    shuffle_partitions: int
    small: bool

    @classmethod
    def for_dataset(cls, dataset: Dataset, cores: int | None = None) -> Self:
        """Choose the settings for a data set on this machine.

        Args:
            dataset: The data.
            cores: Cores that Spark may use; None for all that this process may.
        """
        used = cores or _cores()
        least, most = _MEMORY_MB
        data_bytes = sum(_size_bytes(path) for path in dataset.tables.values())
        return cls(
            cores=used,
            memory_mb=min(max(_memory_mb() // _MEMORY_SHARE, least), most),
            shuffle_partitions=max(used, -(-data_bytes // _BYTES_PER_PARTITION)),
            small=data_bytes < _SMALL_BYTES,
        )

    @property
    def spark(self) -> dict[str, str]:
        """Spark's own settings."""
        return {
            "spark.master": f"local[{self.cores}]",
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.catalogImplementation": "in-memory",
            # A result is bounded by the time and the rows of a query, not by its bytes.
            "spark.driver.maxResultSize": "0",
            # With it on, Spark counts only a part of the bytes that it reads.
            "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
            # By default pages grow with the heap, and every small join zeroes tens of megabytes.
            "spark.buffer.pageSize": "1m",
            # By default it forgets, so that the second run of a query compiles again.
            "spark.sql.codegen.cache.maxEntries": "2000",
            # A second fence behind the guard: every write to files makes one of these before it
            # touches them, and of the abstract class there is none.
            "spark.sql.sources.commitProtocolClass": _NO_WRITER,
            # Two ways from SQL to this machine: files by path, and ${env:...} in the text.
            "spark.sql.runSQLOnFiles": "false",
            "spark.sql.variable.substitute": "false",
        }

    @property
    def java(self) -> tuple[str, ...]:
        """Options for Java."""
        quick = _QUICK if self.small else ()
        # Half a broken server is worse than none: the engine starts another.
        return (f"-Xmx{self.memory_mb}m", "-XX:+ExitOnOutOfMemoryError", *quick)

    def described(self) -> dict[str, str]:
        """Return what bears on results and timings, for the fingerprint."""
        return {**self.spark, "java_options": " ".join(self.java)}


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_mb() -> int:
    return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE")) // _MIB


def _size_bytes(path: Path) -> int:
    files = path.rglob("*.parquet") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
