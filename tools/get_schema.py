"""The tool that shows tables' columns and sample rows."""

from __future__ import annotations

import time
from typing import Annotated

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, BeforeValidator, Field

from bothends.engines import Engine
from bothends.infra.errors import EngineError
from bothends.tools.report import ToolReport
from bothends.tools.text import rows_as_text

__all__ = ["get_schema_tool"]

_MAX_SAMPLE_ROWS = 20


def _names(value: object) -> object:
    """Accept `"orders, lineitem"` for a list: small models write it so."""
    if isinstance(value, str):
        return [name for part in value.split(",") if (name := part.strip().strip("\"'`[]"))]
    return value


class _Arguments(BaseModel):
    tables: Annotated[list[str], BeforeValidator(_names)] = Field(
        description="Names of the tables, as list_tables shows them."
    )
    sample_rows: int | None = Field(
        None, ge=0, le=_MAX_SAMPLE_ROWS, description="Sample rows to show of each table."
    )


def get_schema_tool(engine: Engine, sample_rows: int) -> BaseTool:
    """Return the `get_schema` tool over an engine.

    Args:
        engine: The engine.
        sample_rows: Rows shown of each table where the model does not say.
    """

    def get_schema(tables: list[str], sample_rows: int | None = None) -> tuple[str, ToolReport]:
        wanted = default_rows if sample_rows is None else sample_rows
        parts: list[str] = []
        errors: list[str] = []
        started = time.perf_counter()
        for table in tables:
            try:
                part = engine.ddl(table)
                if wanted:
                    part += f"\n/* {wanted} sample rows:\n"
                    part += rows_as_text(engine.sample(table, wanted), wanted) + "\n*/"
            except EngineError as error:
                errors.append(str(error))
                part = f"error: {error}"
            parts.append(part)
        report = ToolReport(engine_s=time.perf_counter() - started, error="; ".join(errors) or None)
        return "\n\n".join(parts) or "error: name at least one table", report

    default_rows = sample_rows
    return StructuredTool.from_function(
        get_schema,
        name="get_schema",
        description="Show the columns and some sample rows of tables.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )
