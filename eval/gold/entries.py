"""The gold of a suite on another engine: what was admitted, what was excluded, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.eval.record import Tolerance
from bothends.infra.errors import DataError

__all__ = ["Cause", "GoldEntry", "gold_file", "load_gold", "write_gold"]

Cause = Literal["gold_failed", "chance", "untranslatable", "failed", "timeout", "changed"]
"""Why a question is excluded: its gold fails on SQLite; it has several right answers; no rule says
it elsewhere; the target refuses it; it takes too long there; it returns something else there."""


class GoldEntry(BaseModel):
    """One question's gold on one engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_id: str = Field(description="The question's id in its suite.")
    database: str = Field(description="The database that is asked.")
    engine: str = Field(description="The engine that gold was translated for.")
    status: Literal["admitted", "excluded"] = Field(description="Whether it may be scored there.")
    cause: Cause | None = Field(None, description="Why it is excluded; null where admitted.")
    reason: str = Field("", description="The same in a sentence.")
    source_sql: str = Field(description="Gold as the suite has it, in SQLite's SQL.")
    sql: str | None = Field(description="Gold in the engine's SQL; null where there is none.")
    rules: tuple[str, ...] = Field((), description="The rules that were applied.")
    ordered: bool | None = Field(
        None, description="Whether the rows come in gold's order too; null where not compared."
    )
    rows: int | None = Field(None, description="Rows of gold's result on SQLite.")
    engine_version: str = Field(description="The engine's own version.")
    engine_package: str = Field(description="The package that the engine comes in.")
    sqlite_version: str = Field(description="The version of SQLite that gold was run on.")
    tolerance: Tolerance = Field(description="How far two numbers may lie apart and be equal.")
    timeout_s: float = Field(description="Seconds that a query could take on either side.")
    translation: int = Field(description="The version of the rules.")
    questions_sha256: str = Field(description="Of the file that the question is from.")
    data_digest: str = Field(description="Of the imported database.")


def gold_file(directory: Path, engine: str) -> Path:
    """Return where the gold of an engine lies in a directory of imported databases."""
    return directory / f"gold.{engine}.jsonl"


def load_gold(directory: Path, engine: str) -> Mapping[str, GoldEntry]:
    """Return what the gate found for an engine, by question id; empty where it never ran.

    Args:
        directory: The directory that holds the imported databases.
        engine: `postgres` or `spark`.

    Raises:
        DataError: If the file is not one of the gate's.
    """
    path = gold_file(directory, engine)
    if not path.exists():
        return {}
    try:
        lines = path.read_text("utf-8").splitlines()
        entries = [GoldEntry.model_validate_json(line) for line in lines]
    except (OSError, ValueError, ValidationError) as error:
        raise DataError(
            f"{path} cannot be read as gold; delete it and run the import again"
        ) from error
    return {entry.question_id: entry for entry in entries}


def write_gold(directory: Path, engine: str, entries: Iterable[GoldEntry]) -> None:
    """Write what the gate found; the file appears whole or not at all.

    Raises:
        DataError: If the directory cannot be written.
    """
    path = gold_file(directory, engine)
    scratch = path.with_suffix(".partial")
    try:
        scratch.write_text("".join(f"{entry.model_dump_json()}\n" for entry in entries), "utf-8")
        scratch.replace(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}); name another directory with "
            "--out"
        ) from error
