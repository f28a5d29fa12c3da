"""What one execution took of the engine, in bytes, rows and tasks rather than in seconds."""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["EngineFacts", "Execution"]


class EngineFacts(BaseModel):
    """What an engine tells of one execution. What it does not tell is null, never 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read_bytes: int | None = Field(
        None,
        description="Bytes read from tables, as they are stored, with what was read ahead of need.",
    )
    read_rows: int | None = Field(None, description="Rows read from tables.")
    shuffle_read_bytes: int | None = Field(
        None, description="Bytes that tasks fetched of other tasks' output, as they are sent."
    )
    shuffle_write_bytes: int | None = Field(
        None, description="Bytes that tasks wrote for other tasks, as they are sent."
    )
    spill_memory_bytes: int | None = Field(
        None, description="Size in memory of what did not stay there."
    )
    spill_disk_bytes: int | None = Field(None, description="Size on disk of the same.")
    jobs: int | None = Field(None, description="Jobs.")
    stages: int | None = Field(None, description="Stages that ran, each attempt of one counted.")
    tasks: int | None = Field(None, description="Tasks that ended well.")
    peak_memory_bytes: int | None = Field(
        None,
        description="Execution memory of the stage that took most of it: the sum of its tasks' "
        "peaks, which need not have come at the same time.",
    )
    run_s: float | None = Field(None, description="Seconds of all tasks, added up.")
    cpu_s: float | None = Field(None, description="Of these, seconds on a CPU.")
    plan_digest: str | None = Field(
        None,
        description="16 hexadecimal digits of the SHA-256 of the plan as it was executed, without "
        "what differs from one execution of it to the next.",
    )


class Execution(Protocol):
    """One execution of a query, as its engine finds it again."""

    def facts(self) -> EngineFacts | None:
        """Return what it took, or None where that is not to be had (any more).

        It may take seconds: ask when nothing is timed. Callable from any thread and process, also
        while the engine runs another query; it never raises for a fault of the engine.
        """
