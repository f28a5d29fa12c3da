"""What a place where jobs run tells of a job, and of the data that lies there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["JobData", "JobState"]


@dataclass(frozen=True, slots=True)
class JobState:
    """How far a job is.

    Attributes:
        status: `waiting` (it was taken and does not run yet), `running`, `done`, or `failed`, which
            a cancelled one is as well.
        reason: Why it failed, in a sentence with the last lines of its log; or what it waits for.
    """

    status: Literal["waiting", "running", "done", "failed"]
    reason: str = ""

    @property
    def ended(self) -> bool:
        """Whether it runs no more."""
        return self.status in {"done", "failed"}


@dataclass(frozen=True, slots=True)
class JobData:
    """A data set where jobs can read it.

    Attributes:
        tables: The URI of the Parquet file, or the directory of such files, of each table by name.
        described: Its name and digest, as an engine's fingerprint has them: `tpch 1f0c...`, the
            same as of the same data on a disk (`data_digest` of its tables' rows and bytes).
    """

    tables: Mapping[str, str]
    described: str
