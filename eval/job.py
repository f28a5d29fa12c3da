"""A sweep's job: what a step on a cluster is given to do, and what it writes as it goes."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bothends.eval.experiment import Regimen
from bothends.eval.record import Executed
from bothends.tools.preflight import Preflight

__all__ = ["Ground", "Job", "JobFailure", "JobQuery", "JobRecord", "name_of"]

_DIGITS = 32


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JobQuery(_Model):
    """One trial's query, with its gold."""

    id: str = Field(
        pattern=r"^[0-9a-f]{32}$",
        description="Its record's name: the digest of the trial and of what is executed for it.",
    )
    question_id: str = Field(description="The question's id.")
    gold_sql: str = Field(description="The question's gold SQL.")
    sql: str | None = Field(description="The translated query; null where gold alone is executed.")


class Job(_Model):
    """All that a step needs to know."""

    job_version: Literal[1] = Field(1, description="The version of this file's shape.")
    suite: str = Field(description="The suite's name.")
    scale_factor: float = Field(description="The data's scale factor.")
    data: str = Field(description="The data's name and digest, as in an engine's fingerprint.")
    tables: dict[str, str] = Field(description="URI of each table's Parquet files, by its name.")
    timeout_s: float = Field(gt=0, description="Seconds that one query may take.")
    max_rows: int = Field(ge=1, description="Rows of a result that are kept and judged.")
    regimen: Regimen = Field(description="How queries are timed.")
    preflight: Preflight = Field(description="What a query is refused for before it runs.")
    keeps_gold: bool = Field(True, description="Whether first rows of gold's results are kept.")
    queries: tuple[JobQuery, ...] = Field(description="What is executed, in this order.")


class JobRecord(_Model):
    """What became of one query of a job: an object of its own, written when it is done."""

    record_version: Literal[1] = Field(1, description="The version of this record's shape.")
    id: str = Field(description="The query's id.")
    gold_failed: str | None = Field(
        None, description="Why gold could not be executed; null where it was."
    )
    executed: Executed | None = Field(
        None, description="What became of the query; null where it was not run."
    )


class Ground(_Model):
    """What a job runs on: written once, when its first step has looked."""

    ground_version: Literal[1] = Field(1, description="The version of this record's shape.")
    engine: dict[str, Any] = Field(description="The engine's fingerprint.")
    fingerprint: str = Field(description="Its digest.")
    versions: dict[str, str] = Field(description="Versions of the packages there.")
    hardware: str = Field(description="The driver's machine, and the executors that it had.")
    shuffle_partitions: int = Field(description="Partitions after a shuffle, the same for all.")


class JobFailure(_Model):
    """Why a step ended before its job was done."""

    failure_version: Literal[1] = Field(1, description="The version of this record's shape.")
    reason: str = Field(description="The reason, in a sentence.")
    again: bool = Field(
        description="Whether another step goes on: what stood in the way is recorded by now."
    )


def name_of(*parts: object) -> str:
    """Return a file's name for something: the same for the same, on any machine.

    Args:
        parts: What it is, as JSON.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
