"""One query through Spark Connect: its rows as Python values, its plan, its error in a line.

What is not of Connect alone serves a driver's own session too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from bothends.engines.base import Limits, Outcome
from bothends.engines.kept import Kept
from bothends.engines.shorten import shorten

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "connect_parser",
    "fetch",
    "keep",
    "outcome_of",
    "plan",
    "plan_outcome",
    "require_query",
    "shortened",
]

# Long lists of paths end in dots, and not in a bracket.
_LOCATION: Final = re.compile(r"Location: \w+ ?\([^)]*\) ?\[[^\]]*?(?:\]|\.\.\.), ")
_POSITION: Final = re.compile(r"\(line (\d+), ")
_UNBALANCED: Final = (
    "[PARSE_SYNTAX_ERROR] Syntax error: the query ends too early, or its parentheses do not match. "
    "SQLSTATE: 42601"
)


def connect_parser(session: Any) -> Callable[[str], object]:
    """Return what has the server of a Spark Connect session parse a text, for `require_query`."""
    from pyspark.sql.connect.plan import SQL

    client = session.client
    return lambda sql: client._analyze(method="schema", plan=SQL(sql).to_proto(client))


def require_query(parse: Callable[[str], object], sql: str) -> None:
    """Have Spark's own parser refuse everything but a query, before anything runs.

    Spark runs a command as soon as it has read it: by then it is too late to look. In its
    grammar a common table expression is a query and can be nothing else, so a text that stands
    as one neither writes nor changes the session, the catalog or the settings.

    Args:
        parse: Has Spark parse a text without running it.
        sql: The text, without a semicolon at its end.

    Raises:
        ValueError: If it is not a query; the message is Spark's.
        PySparkException: If Spark cannot be asked.
    """
    from pyspark.errors import AnalysisException, ParseException

    try:
        parse(f"WITH bothends AS (\n{sql}\n) SELECT * FROM bothends")  # noqa: S608
    except ParseException as error:
        # What the error says of its place is to hold for the text as it was written.
        message = shortened(error)
        line = int(position[1]) - 1 if (position := _POSITION.search(message)) else 1
        if line > sql.count("\n") + 1:
            raise ValueError(_UNBALANCED) from error
        raise ValueError(_POSITION.sub(f"(line {line}, ", message)) from error
    except AnalysisException:
        # A query, if a wrong one: the run says what is wrong with it.
        return


def fetch(session: Any, sql: str, limits: Limits) -> Outcome:
    """Run a query and receive its rows batch by batch.

    Args:
        session: A Spark Connect session.
        sql: The query.
        limits: What is kept of it.

    Raises:
        PySparkException: If Spark refuses the query or it breaks.
        ValueError: If the result holds a value that Python cannot.
    """
    from pyspark.sql.connect.plan import SQL
    from pyspark.sql.types import StructType

    start = time.perf_counter()
    client = session.client
    schema = StructType()
    kept = Kept(limits)
    # One call, and batch by batch: `session.sql` would have the server analyse the text twice,
    # and `toArrow` would hold every row at once.
    for part in client.to_table_as_iterator(SQL(sql).to_proto(client), {}):
        if isinstance(part, StructType):
            schema = part
            continue
        keep(kept, part)
    return outcome_of(schema, kept, time.perf_counter() - start)


def keep(kept: Kept, part: pa.Table) -> None:
    """Add a part of a result to what is kept of it.

    Raises:
        ValueError: If it holds a value that Python cannot.
    """
    room = part.slice(0, kept.room_rows)
    kept.add(_python_rows(room), room.nbytes, _longest_bytes(room))
    kept.skip(part.num_rows - room.num_rows)


def outcome_of(schema: Any, kept: Kept, seconds: float) -> Outcome:
    """Return the outcome of a query that executed.

    Args:
        schema: Its result's, a `StructType`.
        kept: What was kept of it.
        seconds: What it took.
    """
    return Outcome(
        status="ok",
        columns=tuple(field.name for field in schema),
        types=tuple(field.dataType.simpleString().lower() for field in schema),
        rows=tuple(kept.rows),
        row_count=kept.count,
        truncated=kept.count > len(kept.rows),
        cells_cut=kept.cells_cut,
        seconds=seconds,
    )


def plan(session: Any, sql: str, mode: str = "simple") -> Outcome:
    """Return the plan of a query as one cell, without the paths of its files.

    Args:
        session: A Spark Connect session.
        sql: The query.
        mode: `simple` for the physical plan, `cost` for the optimized logical plan with its
            statistics before it.

    Raises:
        PySparkException: If Spark refuses the query.
    """
    from pyspark.sql.connect.plan import SQL

    start = time.perf_counter()
    client = session.client
    return plan_outcome(client.explain_string(SQL(sql).to_proto(client), mode), start)


def plan_outcome(text: str, start: float) -> Outcome:
    """Return a plan as an outcome, without the paths of its files.

    Args:
        text: The plan, as Spark explains it.
        start: When it was asked for, by `time.perf_counter`.
    """
    seconds = time.perf_counter() - start
    text = _LOCATION.sub("", text).strip()
    return Outcome("ok", ("plan",), ("string",), ((text,),), 1, seconds=seconds)


def _longest_bytes(table: pa.Table) -> int:
    """Return what no text or binary in a table is longer than."""
    import pyarrow.compute as pc
    import pyarrow.types as pat

    longest = 0
    for column in table.columns:
        if pat.is_nested(column.type):
            longest = max(longest, column.nbytes)
        elif pat.is_string(column.type) or pat.is_binary(column.type):
            longest = max(longest, pc.max(pc.binary_length(column)).as_py() or 0)
    return longest


def _python_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows by position; column names may repeat."""
    if table.num_rows == 0:
        return []
    return list(zip(*map(_values, table.columns), strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    import pyarrow.types as pat

    try:
        # Said of maps, it takes Arrow off its quick path.
        options = {"maps_as_pydicts": "lossy"} if pat.is_nested(column.type) else {}
        values: list[Any] = _without_zone(column).to_pylist(**options)
    except (KeyError, NotImplementedError, OverflowError, ValueError) as error:
        # Intervals of months, and dates before the year 1 or after 9999.
        raise ValueError(f"a result of type {column.type} has no Python value: {error}") from error
    return values


def _without_zone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a TIMESTAMP as what a clock shows in the session's zone, which is UTC."""
    import pyarrow as pa
    import pyarrow.types as pat

    zoned = pat.is_timestamp(column.type) and column.type.tz is not None
    return column.cast(pa.timestamp(column.type.unit)) if zoned else column


def shortened(error: Exception) -> str:
    """Return the error's class and message without plan and stack, and its place in the query."""
    text = str(error)
    match = re.search(r"\[[A-Z][A-Z0-9_.]+\] [^\n]*|(?<=details = \")[^\"\n]*", text)
    line = match[0] if match else text.strip().split("\n")[0]
    return shorten(line.rstrip("; "))
