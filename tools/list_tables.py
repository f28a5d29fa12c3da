"""The tool that shows the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from bothends.engines import Engine
from bothends.tools.pattern import Pattern, matches
from bothends.tools.report import ToolReport
from bothends.tools.text import as_cell, counted

__all__ = ["list_tables_tool"]

_MOST_NAMES = 500
_NOTE_CHARACTERS = 100


class _Arguments(BaseModel):
    pattern: Pattern = Field(
        None, description="Part of a table's name, or its form with * and ?. Default: all tables."
    )


def list_tables_tool(engine: Engine, characters: int) -> BaseTool:
    """Return the `list_tables` tool over an engine.

    It shows 500 names at most; of more, and of what is longer than it may be, it says how many
    there are.

    Args:
        engine: The engine.
        characters: Characters that are shown at most.
    """

    def list_tables(pattern: str | None = None) -> tuple[str, ToolReport]:
        started = engine.clock_s()
        names = engine.list_tables()
        report = ToolReport(engine_s=engine.clock_s() - started)
        if not names:
            return "(the catalog is empty)", report
        found = [name for name in names if matches(pattern, name)]
        if not found:
            return (
                f"no table matches {as_cell(pattern)!r} (with * or ?, a pattern is the form of the "
                f"whole name); there are {counted(len(names), 'table')}"
            ), report
        return _bounded(found, characters), report

    return StructuredTool.from_function(
        list_tables,
        name="list_tables",
        description="List the tables of the database.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )


def _bounded(names: Sequence[str], characters: int) -> str:
    lines: list[str] = []
    room = characters - _NOTE_CHARACTERS
    for name in names[:_MOST_NAMES]:
        room -= len(name) + 1
        if room < 0:
            break
        lines.append(name)
    if more := len(names) - len(lines):
        lines.append(f"... and {counted(more, 'more table')}: narrow the list with pattern")
    return "\n".join(lines)
