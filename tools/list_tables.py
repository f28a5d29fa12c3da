"""The tool that shows the catalog."""

from __future__ import annotations

import time

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from bothends.engines import Engine
from bothends.tools.report import ToolReport

__all__ = ["list_tables_tool"]


class _Arguments(BaseModel):
    pass


def list_tables_tool(engine: Engine) -> BaseTool:
    """Return the `list_tables` tool over an engine."""

    def list_tables() -> tuple[str, ToolReport]:
        started = time.perf_counter()
        names = engine.list_tables()
        report = ToolReport(engine_s=time.perf_counter() - started)
        return "\n".join(names) or "(the catalog is empty)", report

    return StructuredTool.from_function(
        list_tables,
        name="list_tables",
        description="List the tables of the database.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )
