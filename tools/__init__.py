"""Floor 2: the four tools, built over an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "Preflight": "preflight",
    "ToolReport": "report",
    "as_cell": "text",
    "check_query_tool": "check_query",
    "get_schema_tool": "get_schema",
    "list_tables_tool": "list_tables",
    "most_tables": "get_schema",
    "refusal": "preflight",
    "rows_as_text": "text",
    "run_query_tool": "run_query",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: a job on a cluster has no LangChain."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
