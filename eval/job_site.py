"""Where a job of a sweep runs: storage that it shares with us, and what starts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bothends.infra.job_state import JobData, JobState

__all__ = ["JobRun", "JobSite"]


class JobRun(Protocol):
    """A job that was submitted."""

    def state(self) -> JobState:
        """Return how far it is; asked every few seconds.

        Raises:
            BothendsError: If that cannot be had, and asking again will not help.
        """

    def cancel(self) -> None:
        """Have it end, whether it has begun or not; idempotent, and does not wait."""


class JobSite(Protocol):
    """Storage, by names such as `jobs/1f0c/records/3a.json`, and Spark that reads and writes it.

    All of it raises BothendsError where it cannot be reached or is not allowed.

    Attributes:
        title: What it is, in a few words, such as `EMR cluster j-2AXX`.
        platform: Python and processor there, such as `("3.11", "x86_64")`; None where they are this
            machine's.
        poll_s: Seconds between two looks at a job and its records.
    """

    title: str
    poll_s: float
    platform: tuple[str, str] | None

    def put(self, name: str, content: bytes) -> str:
        """Store an object, whole or not at all, in place of one before; return its URI."""

    def get(self, name: str) -> bytes | None:
        """Return an object; None where there is none."""

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of all objects that begin with a prefix, sorted."""

    def uri(self, name: str) -> str:
        """Return the URI that Spark knows an object by, or all that begin with the name."""

    def data(self, suite: str, scale_factor: float) -> JobData:
        """Return a suite's data as `bothends data SUITE --to` lays it out.

        Raises:
            DataError: If it is not there, with the command that puts it there.
        """

    def start(self, script: str, arguments: Sequence[str], conf: Mapping[str, str]) -> JobRun:
        """Submit a PySpark script.

        Args:
            script: Its URI.
            arguments: Its arguments.
            conf: Spark's settings that it needs, beside those of the place.
        """

    def describe(self) -> str | None:
        """Return the cluster as `--machine` takes it, such as `emr:r5b.xlarge+32xr5b.xlarge`.

        None where it is not known.
        """
