"""What a Spark server of our own is started with, from the machine and the size of the data."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError

__all__ = ["SECOND_WALL", "SparkConf"]

_MIB: Final = 2**20
# Parquet is about three to four times as large once decoded: a quarter of Spark's usual 200 MB.
_BYTES_PER_PARTITION: Final = 64 * _MIB
_SMALL_BYTES: Final = 128 * _MIB
# On small data most of the work is loading classes, compiling, and growing the heap: no optimising
# compiler, no collector with threads of its own, and room from the start.
_QUICK: Final = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-Xms1g", "-Xmn600m", "-XX:MetaspaceSize=256m"),
)
_QUICK_EXECUTOR: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m"
_MEMORY_SHARE: Final = 4
_MEMORY_MB: Final = (1_024, 16_384)
_MASTER_PORT: Final = 7077
_MASTER: Final = re.compile(r"(?P<host>[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")
# What Spark itself takes where a setting does not say.
_EXECUTOR_MEMORY: Final = "1g"

# A second fence behind the guard; each of these can be set for one session.
SECOND_WALL: Final = {
    # Every write to files makes one of these before it touches them, and of the abstract class
    # there is none.
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.internal.io.FileCommitProtocol",
    # Two ways from SQL to the server's machine: files by path, and ${env:...} in the text.
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
}


@dataclass(frozen=True, slots=True)
class SparkConf:
    """The settings of one server.

    Attributes:
        cores: Cores that Spark may use; None for what a cluster gives.
        memory_mb: The most heap that the server may take.
        shuffle_partitions: Partitions after a shuffle, before Spark merges small ones.
        small: Whether the data is so small that warming up costs more than running.
        cluster: Host and port of a standalone cluster's master; None for Spark on this machine.
        executor_memory: The memory of each of a cluster's executors, as Spark writes it.
    """

    cores: int | None
    memory_mb: int
    shuffle_partitions: int
    small: bool
    cluster: tuple[str, int] | None = None
    executor_memory: str = _EXECUTOR_MEMORY

    @classmethod
    def for_dataset(
        cls, dataset: Dataset, cores: int | None = None, address: str | None = None
    ) -> Self:
        """Choose the settings for a data set on this machine, or on a cluster.

        A cluster's executors are as large as the environment's SPARK_EXECUTOR_MEMORY says, or else
        as Spark's default: how large they may be is not known before they run.

        Args:
            dataset: The data.
            cores: Cores that Spark may use; None for all that this process may, or for what the
                cluster gives.
            address: What follows `spark://` in the address of a cluster's master; None for Spark on
                this machine.

        Raises:
            UsageError: If the address is not one.
        """
        least, most = _MEMORY_MB
        data_bytes = sum(_size_bytes(path) for path in dataset.tables.values())
        cluster = None if address is None else _master(address)
        used = cores or (_cores() if cluster is None else None)
        return cls(
            cores=used,
            memory_mb=min(max(_memory_mb() // _MEMORY_SHARE, least), most),
            shuffle_partitions=max(used or 1, -(-data_bytes // _BYTES_PER_PARTITION)),
            small=data_bytes < _SMALL_BYTES,
            cluster=cluster,
            executor_memory=os.environ.get("SPARK_EXECUTOR_MEMORY") or _EXECUTOR_MEMORY,
        )

    @property
    def master(self) -> str:
        """Spark's own name of what runs the queries."""
        if self.cluster is None:
            return f"local[{self.cores}]"
        host, port = self.cluster
        return f"spark://{host}:{port}"

    @property
    def loopback(self) -> bool:
        """Whether all of Spark is on this machine."""
        host = self.cluster[0] if self.cluster else "localhost"
        return host in ("localhost", "[::1]") or host.startswith("127.")

    @property
    def spark(self) -> dict[str, str]:
        """Spark's own settings."""
        settings = {
            "spark.master": self.master,
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
            **SECOND_WALL,
        }
        if self.cluster is not None:
            settings["spark.executor.memory"] = self.executor_memory
            if self.cores is not None:
                settings["spark.cores.max"] = str(self.cores)
            if self.small:
                settings["spark.executor.extraJavaOptions"] = _QUICK_EXECUTOR
        return settings

    @property
    def java(self) -> tuple[str, ...]:
        """Options for Java."""
        quick = _QUICK if self.small else ()
        # Half a broken server is worse than none: the engine starts another.
        return (f"-Xmx{self.memory_mb}m", "-XX:+ExitOnOutOfMemoryError", *quick)

    def described(self) -> dict[str, str]:
        """Return what bears on results and timings, for the fingerprint."""
        return {**self.spark, "java_options": " ".join(self.java)}


def _master(address: str) -> tuple[str, int]:
    match = _MASTER.fullmatch(address.rstrip("/"))
    if match is None or int(match["port"] or 0) > 65_535:
        raise UsageError(
            "the address after spark:// is not that of a cluster's master: write "
            f"spark://host:{_MASTER_PORT}"
        )
    return match["host"], int(match["port"] or _MASTER_PORT)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_mb() -> int:
    return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE")) // _MIB


def _size_bytes(path: Path) -> int:
    files = path.rglob("*.parquet") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
