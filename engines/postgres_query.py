"""One query through psycopg: its rows as they come from the server, its error in a line."""

from __future__ import annotations

import marshal
import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import psycopg
from psycopg import generators
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from bothends.engines.kept import Kept
from bothends.engines.postgres_connect import cancel
from bothends.engines.postgres_values import type_names
from bothends.engines.shorten import shorten

__all__ = ["EXPLAIN", "EXPLAIN_JSON", "Columns", "fetch", "shortened"]

EXPLAIN: Final = "EXPLAIN (FORMAT TEXT) "
"""What makes a plan of a statement; with options of our own, so that it cannot bring ANALYZE."""

EXPLAIN_JSON: Final = "EXPLAIN (FORMAT JSON, VERBOSE) "
"""The same for machines; VERBOSE, so that tables stand there with their schemas."""

# A chunk is in memory as a whole, and a cell may have a gigabyte; more rows are not quicker.
_CHUNK_ROWS: Final = 50
_HINT_CHARACTERS: Final = 300
_ERROR_CHARACTERS: Final = 480
_FIXED_BYTES: Final = 16
_FIXED_TYPES: Final = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "oid"),
    *("date", "time", "timetz", "timestamp", "timestamptz", "interval", "uuid"),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a result.

    Attributes:
        names: Their names.
        types: PostgreSQL's own names of their types.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]


def fetch(connection: psycopg.Connection[Any], sql: str, kept: Kept) -> Columns:
    """Run a query and receive its rows; those that are not kept are not decoded.

    Not with a server-side cursor: PostgreSQL plans those for their first rows, and never in
    parallel. Where it ends in the middle, the connection is closed.

    Args:
        connection: The connection, in a transaction.
        sql: The statement.
        kept: Takes the rows.

    Raises:
        psycopg.Error: If the server refuses it or the connection breaks.
        ValueError, OverflowError: If the result holds a value that Python cannot.
    """
    loader = Transformer(connection)
    columns = Columns((), ())
    sized: list[int] | None = None
    try:
        for chunk in _chunks(connection, sql):
            if sized is None:
                columns, sized = _described(connection, chunk)
                loader.set_pgresult(chunk)
            wanted = min(chunk.ntuples, kept.room_rows)
            if wanted:
                loader.set_pgresult(chunk, set_loaders=False)
                rows = loader.load_rows(0, wanted, tuple)
                kept.add(rows, _size_bytes(rows, sized))
            kept.skip(chunk.ntuples - wanted)
    finally:
        if connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
            cancel(connection)
            connection.close()
    return columns


def shortened(error: Exception, sql: str = "") -> str:
    """Return the server's message with its hint and its place in the statement, without context.

    Args:
        error: What psycopg raised.
        sql: The statement.
    """
    diagnosis = error.diag if isinstance(error, psycopg.Error) else None
    message = shorten((diagnosis and diagnosis.message_primary) or str(error), _ERROR_CHARACTERS)
    if diagnosis and diagnosis.statement_position:
        before = sql[: int(diagnosis.statement_position) - 1]
        before = before.removeprefix(EXPLAIN).removeprefix(EXPLAIN_JSON)
        line, start = before.count("\n") + 1, before.rfind("\n") + 1
        message += f" (line {line}, pos {len(before) - start})"
    if diagnosis and diagnosis.message_hint:
        message += f". Hint: {shorten(diagnosis.message_hint, _HINT_CHARACTERS)}"
    return message


def _chunks(connection: psycopg.Connection[Any], sql: str) -> Iterator[PGresult]:
    """Send one statement and yield its rows as they come; at least one result, perhaps empty."""
    link = connection.pgconn
    link.send_query_params(sql.encode(), None)
    if psycopg.capabilities.has_stream_chunked():
        link.set_chunked_rows_mode(_CHUNK_ROWS)
    else:
        link.set_single_row_mode()
    connection.wait(generators.send(link))
    while (result := connection.wait(generators.fetch(link))) is not None:
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)
        if result.status in {ExecStatus.COPY_IN, ExecStatus.COPY_OUT, ExecStatus.COPY_BOTH}:
            raise psycopg.ProgrammingError("COPY is no query")
        yield result


def _described(connection: psycopg.Connection[Any], result: PGresult) -> tuple[Columns, list[int]]:
    """Return the columns of a result, and the places of those whose values vary in size."""
    with connection.cursor() as cursor:
        cursor.pgresult = result
        described = cursor.description or ()
        columns = Columns(tuple(column.name for column in described), type_names(cursor))
    types = connection.adapters.types
    fixed = {types[name].oid for name in _FIXED_TYPES}
    return columns, [n for n, column in enumerate(described) if column.type_code not in fixed]


def _size_bytes(rows: list[tuple[Any, ...]], sized: list[int]) -> float:
    """Estimate what rows hold; infinity where only a look at each value tells."""
    size = _FIXED_BYTES * len(rows) * (len(rows[0]) - len(sized))
    if not sized:
        return size
    try:
        # It knows text, bytes and what JSON holds, and nothing looks at each cell quicker.
        return size + len(marshal.dumps(list(map(itemgetter(*sized), rows))))
    except ValueError:  # dates within arrays, and the like
        return math.inf
