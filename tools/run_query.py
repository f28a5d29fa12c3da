"""The tool that runs the query, once, to completion."""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from bothends.engines import Engine, Limits
from bothends.tools.preflight import Preflight, run_within
from bothends.tools.report import ToolReport
from bothends.tools.text import Redaction, redacted_rows, rows_as_text

__all__ = ["run_query_tool"]

_SHOWN_ROWS = 20


class _Arguments(BaseModel):
    sql: str = Field(description="The query. It must only read.")


def run_query_tool(
    engine: Engine,
    limits: Limits,
    characters: int,
    redaction: Redaction | None = None,
    preflight: Preflight | None = None,
) -> BaseTool:
    """Return the `run_query` tool over an engine.

    Where pre-flight limits are in force, the engine is first asked what the query would do. That
    is a part of its work for this call, in seconds and in cost.

    Args:
        engine: The engine.
        limits: Time and rows that the query may take.
        characters: Characters of its result that are shown at most.
        redaction: What each cell goes through before it is shown.
        preflight: What the query is refused for before it runs; None for nothing.
    """

    def run_query(sql: str) -> tuple[str, ToolReport]:
        outcome, engine_s = run_within(engine, sql, limits, preflight)
        report = ToolReport(engine_s=engine_s, error=outcome.error, sql=sql, outcome=outcome)
        if outcome.status != "ok":
            return f"{outcome.status}: {outcome.error}", report
        shown = redacted_rows(outcome, _SHOWN_ROWS, redaction)
        return rows_as_text(shown, _SHOWN_ROWS, characters), report

    return StructuredTool.from_function(
        run_query,
        name="run_query",
        description="Run the query and return its rows. This ends the task.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )
