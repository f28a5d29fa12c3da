"""Floor 2: the four tools, built over an engine."""

from __future__ import annotations

from bothends.tools.check_query import check_query_tool
from bothends.tools.get_schema import get_schema_tool, most_tables
from bothends.tools.list_tables import list_tables_tool
from bothends.tools.preflight import Preflight, refusal
from bothends.tools.report import ToolReport
from bothends.tools.run_query import run_query_tool
from bothends.tools.text import as_cell, rows_as_text

__all__ = [
    "Preflight",
    "ToolReport",
    "as_cell",
    "check_query_tool",
    "get_schema_tool",
    "list_tables_tool",
    "most_tables",
    "refusal",
    "rows_as_text",
    "run_query_tool",
]
