"""Limits that a query must keep to before it is run, by the engine's own estimate of it."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ByteSize, ConfigDict, Field

from bothends.engines.base import Engine, Limits, Outcome
from bothends.engines.estimate import Estimate

__all__ = ["Preflight", "refusal", "run_within", "size_text", "warnings"]

_SHOWN_JOINS: Final = 3


class Preflight(BaseModel):
    """What is refused before it runs. By default nothing is, and no estimate is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_scan_bytes: ByteSize | None = Field(
        None,
        gt=0,
        description="Bytes of tables' files that a query may read by the engine's estimate, as "
        "10000000 or 10GB; a query that would read more is rejected and does not run. null: any.",
    )
    max_plan_rows: int | None = Field(
        None,
        gt=0,
        description="Rows that the engine may estimate of any step of a query's plan; null: any. "
        "PostgreSQL always estimates them, Spark where its tables are analyzed and "
        "spark.sql.cbo.enabled is set.",
    )
    refuse_cartesian: bool = Field(
        False,
        description="Whether a query is rejected in which each row of a table meets each of "
        "another, no equality tying them. A side of one row is none of these.",
    )
    require_partition_filter: bool = Field(
        False,
        description="Whether a query is rejected that reads every partition of a partitioned "
        "table.",
    )

    @property
    def in_force(self) -> bool:
        """Whether anything is refused, so that an estimate is needed."""
        return self != Preflight()


def refusal(estimate: Estimate, preflight: Preflight) -> str | None:
    """Return why a query is refused, with the estimate, the limit, and what to change.

    What the engine does not tell refuses nothing, and neither does a fault of the query: the
    engine says that itself when it is run.

    Args:
        estimate: The engine's estimate of the query.
        preflight: The limits.

    Returns:
        Every reason, in one text; None where the query keeps to all limits.
    """
    reasons = []
    scan, most = estimate.scan_bytes, preflight.max_scan_bytes
    if most is not None and scan is not None and scan > most:
        reasons.append(
            f"it would read {size_text(scan)} of table files, and {size_text(most)} are allowed: "
            "read fewer tables or partitions, or each table once"
        )
    rows, most_rows = estimate.rows, preflight.max_plan_rows
    if most_rows is not None and rows is not None and rows > most_rows:
        reasons.append(
            f"a step of its plan would return {rows:,} rows, and {most_rows:,} are allowed: filter "
            "or aggregate earlier, and join by keys"
        )
    if preflight.refuse_cartesian and estimate.cartesian:
        reasons.append(_cartesian(estimate))
    if preflight.require_partition_filter and estimate.unfiltered_partitions:
        reasons.append(_unfiltered(estimate))
    return f"refused before it ran: {'; '.join(reasons)}" if reasons else None


def run_within(
    engine: Engine, sql: str, limits: Limits, preflight: Preflight | None
) -> tuple[Outcome, float]:
    """Run a query to completion, unless the engine's estimate of it passes a limit.

    Args:
        engine: The engine.
        sql: The query.
        limits: Time and rows that it may take.
        preflight: What it is refused for before it runs; None for nothing.

    Returns:
        What became of it, and the seconds in which the engine worked: for the estimate, which is
        only asked for where a limit is in force, and for the query.
    """
    estimate_s = 0.0
    if preflight is not None and preflight.in_force:
        estimate = engine.estimate(sql)
        estimate_s = estimate.seconds
        if (reason := refusal(estimate, preflight)) is not None:
            return Outcome(status="rejected", error=reason), estimate_s
    outcome = engine.execute(sql, limits)
    return outcome, estimate_s + outcome.seconds


def warnings(estimate: Estimate, preflight: Preflight) -> tuple[str, ...]:
    """Return what is wrong with a query that would run, in sentences; usually nothing.

    Args:
        estimate: The engine's estimate of the query.
        preflight: The limits in force, which the query may break.
    """
    found = []
    if estimate.cartesian:
        found.append(_cartesian(estimate))
    if estimate.unfiltered_partitions:
        found.append(_unfiltered(estimate))
    if estimate.scan_bytes is not None and found:
        found.append(f"it would read {size_text(estimate.scan_bytes)} of table files")
    refused = refusal(estimate, preflight)
    if refused is not None:
        found.append(f"run_query would refuse it: {refused.partition(': ')[2]}")
    return tuple(found)


def size_text(size_bytes: int) -> str:
    """Return a number of bytes as people write it, in powers of 1000, as in `1.5 GB`."""
    size = float(size_bytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            break
        size /= 1000
    return f"{size:.4g} {unit}"


def _cartesian(estimate: Estimate) -> str:
    shown = ", and ".join(estimate.cartesian[:_SHOWN_JOINS])
    more = len(estimate.cartesian) - _SHOWN_JOINS
    rest = f", and {more} more of these" if more > 0 else ""
    return f"{shown}{rest}, which compares every pair of rows: join by equal columns"


def _unfiltered(estimate: Estimate) -> str:
    tables = ", ".join(estimate.unfiltered_partitions)
    return f"it reads every partition of {tables}: filter by the column it is partitioned by"
