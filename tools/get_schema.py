"""The tool that shows tables' columns and sample rows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, BeforeValidator, Field

from bothends.engines import Engine, Outcome
from bothends.infra.errors import EngineError
from bothends.tools.ddl import shown_ddl
from bothends.tools.pattern import Pattern
from bothends.tools.report import ToolReport
from bothends.tools.text import Redaction, counted, cut, redacted_rows, rows_as_text

__all__ = ["get_schema_tool", "most_tables"]

_MAX_SAMPLE_ROWS = 20
# Of less than this nobody reads a table's columns.
_TABLE_CHARACTERS = 1_000
_NOTE_CHARACTERS = 100
_NAME = re.compile(r"(?:\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|[^,\"`\[])+")


def _names(value: object) -> object:
    """Accept `"orders, lineitem"` for a list: small models write it so, in JSON or quotes too."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            if text.endswith("]") and "[" not in text[1:]:
                text = text[1:-1]
    return [name for part in _NAME.findall(text) if (name := part.strip().strip("'").strip())]


class _Arguments(BaseModel):
    tables: Annotated[list[str], BeforeValidator(_names)] = Field(
        description="Names of the tables, as list_tables shows them."
    )
    sample_rows: int | None = Field(
        None, ge=0, le=_MAX_SAMPLE_ROWS, description="Sample rows to show of each table."
    )
    columns: Pattern = Field(
        None, description="Part of a column's name, or its form with * and ?. Default: all columns."
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """What the engine says of a table."""

    ddl: str
    dialect: str
    sample: Outcome | None
    rows: int

    def text(self, characters: int, columns: str | None) -> str:
        """Return its DDL and its sample, in no more than these characters."""
        sample = self._sample(characters)
        reserved = min(len(sample), characters // 3)
        shown = shown_ddl(self.ddl, self.dialect, characters - reserved, columns)
        if shown.columns is not None and not shown.columns:
            return shown.text
        if len(shown.text) + len(sample) > characters or shown.columns:
            sample = self._sample(characters - len(shown.text), shown.columns)
        return shown.text + sample

    def _sample(self, characters: int, columns: frozenset[str] | None = None) -> str:
        if self.sample is None:
            return ""
        if self.sample.status != "ok":
            return f"\n/* no sample rows: {self.sample.error} */"[:characters]
        begin, end = f"\n/* {self.rows} sample rows:\n", "\n*/"
        outcome = self.sample if columns is None else _only(self.sample, columns)
        return begin + rows_as_text(outcome, self.rows, characters - len(begin + end)) + end


def most_tables(characters: int) -> int:
    """Return how many tables one call shows at most, where it may show so many characters."""
    return max(1, characters // _TABLE_CHARACTERS)


def get_schema_tool(
    engine: Engine, sample_rows: int, characters: int, redaction: Redaction | None = None
) -> BaseTool:
    """Return the `get_schema` tool over an engine.

    Args:
        engine: The engine.
        sample_rows: Rows shown of each table where the model does not say.
        characters: Characters that are shown at most, which the tables share: what one does not
            need the others get.
        redaction: What each cell of a sample goes through before it is shown.
    """

    def get_schema(
        tables: list[str], sample_rows: int | None = None, columns: str | None = None
    ) -> tuple[str, ToolReport]:
        wanted = default_rows if sample_rows is None else sample_rows
        described = tables[: most_tables(characters)]
        parts: list[_Table | str] = []
        errors: list[str] = []
        sampled: list[Outcome] = []
        started = engine.clock_s()
        for table in described:
            try:
                ddl = engine.ddl(table)
                sample = engine.sample(table, wanted) if wanted else None
                if sample is not None:
                    sampled.append(sample)
                    sample = redacted_rows(sample, wanted, redaction)
                parts.append(_Table(ddl, engine.dialect, sample, wanted))
            except EngineError as error:
                errors.append(str(error))
                parts.append(f"error: {error}")
        report = ToolReport(
            engine_s=engine.clock_s() - started,
            error="; ".join(errors) or None,
            sampled=tuple(sampled),
        )
        left_out = len(tables) - len(described)
        room = characters - 2 * len(parts) - (_NOTE_CHARACTERS if left_out else 0)
        texts = _sharing(parts, columns, room)
        if left_out:
            texts.append(f"... and {counted(left_out, 'more table')}: ask for fewer at a time")
        return "\n\n".join(texts) or "error: name at least one table", report

    default_rows = sample_rows
    return StructuredTool.from_function(
        get_schema,
        name="get_schema",
        description="Show the columns and some sample rows of tables.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )


def _sharing(parts: Sequence[_Table | str], columns: str | None, characters: int) -> list[str]:
    """Return the parts as texts, those that need little whole, the others cut to equal shares."""
    texts = [_text(part, columns, characters) for part in parts]
    if sum(map(len, texts)) <= characters:
        return texts
    waiting = len(texts)
    for number in sorted(range(len(texts)), key=lambda number: len(texts[number])):
        share = characters // waiting
        if len(texts[number]) > share:
            texts[number] = _text(parts[number], columns, share)
        characters -= len(texts[number])
        waiting -= 1
    return texts


def _text(part: _Table | str, columns: str | None, characters: int) -> str:
    return cut(part, characters) if isinstance(part, str) else part.text(characters, columns)


def _only(outcome: Outcome, columns: frozenset[str]) -> Outcome:
    """Return an outcome with these columns alone; with all where none of them is in it."""
    kept = [place for place, name in enumerate(outcome.columns) if name.lower() in columns]
    if not kept:
        return outcome
    return replace(
        outcome,
        columns=tuple(outcome.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in outcome.rows),
    )
