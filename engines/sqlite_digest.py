"""The digest of a query's whole result from SQLite, which has no hashes of its own."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from typing import Final

from bothends.engines.time_limit import Stopper

__all__ = ["digest"]

_FETCH_ROWS: Final = 1_000
_HASH_BYTES: Final = 16


def digest(
    connection: sqlite3.Connection, sql: str, stopper: Stopper, timeout_s: float
) -> str | None:
    """Run a query again and digest its rows as they come, in constant memory.

    `sqlite:<rows>:<columns>:<sum>`: the number of rows and of columns, and the sum of a 128-bit
    BLAKE2b of each row, modulo 2^128. Whatever the order, equal digests mean equal multisets of
    rows of equal types, up to a collision. Different digests say nothing: 1 and 1.0 differ.

    Args:
        connection: An open connection.
        sql: The query, admitted.
        stopper: The engine's.
        timeout_s: Seconds after which it is interrupted.

    Returns:
        The digest; None where the query fails, is cancelled, or its time is up.
    """
    count = total = 0
    with stopper.watch(connection.interrupt, timeout_s):
        try:
            with contextlib.closing(connection.execute(sql)) as cursor:
                columns = len(cursor.description or ())
                while batch := cursor.fetchmany(_FETCH_ROWS):
                    count += len(batch)
                    # SQLite knows five types, and a row's repr tells them and its cells apart.
                    total += sum(map(_hash, batch))
        except (sqlite3.Error, sqlite3.Warning):
            return None
    return f"sqlite:{count}:{columns}:{total % 2 ** (8 * _HASH_BYTES):x}"


def _hash(row: tuple[object, ...]) -> int:
    data = repr(row).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=_HASH_BYTES).digest(), "big")
