"""The tool that looks a query over before it is run."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from bothends.engines import Engine
from bothends.tools.preflight import Preflight, warnings
from bothends.tools.report import ToolReport

__all__ = ["check_query_tool"]


class _Arguments(BaseModel):
    sql: str = Field(description="The query.")


def check_query_tool(
    engine: Engine,
    *,
    rewrite: Callable[[str], str] | None,
    explain: bool,
    preflight: Preflight | None = None,
) -> BaseTool:
    """Return the `check_query` tool.

    Args:
        engine: The engine whose EXPLAIN is asked.
        rewrite: A checker LLM: takes the query, returns it corrected or unchanged. None for none.
        explain: Whether the engine's EXPLAIN is asked as well, which tells errors, and joins and
            scans that cost more than they should.
        preflight: What `run_query` would refuse the query for; None for nothing.
    """

    def check_query(sql: str) -> tuple[str, ToolReport]:
        checked = rewrite(sql) if rewrite else sql
        advice = f"The query is checked. Now call run_query with it:\n\n{checked}"
        if not explain:
            return advice, ToolReport(sql=sql)
        estimate = engine.estimate(checked)
        if estimate.error is not None:
            advice = f"The engine refuses the query: {estimate.error}\n\n{checked}"
        elif found := warnings(estimate, preflight or Preflight()):
            told = "".join(f"- {each}\n" for each in found)
            advice = f"The engine would run the query, but look at this first:\n{told}\n{checked}"
        return advice, ToolReport(engine_s=estimate.seconds, sql=sql, error=estimate.error)

    return StructuredTool.from_function(
        check_query,
        name="check_query",
        description="Check a query for mistakes before running it. Shows the query to run.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )
