"""Connections to PostgreSQL, and errors about them that tell no secret."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import psycopg

from bothends.engines.postgres_values import adapt_values
from bothends.infra.errors import EngineError, UsageError

__all__ = ["cancel", "connect_to", "connect_with"]

_ERROR_CHARACTERS: Final = 800
_CANCEL_TIMEOUT_S: Final = 2.0
_DEFAULTS: Final = {
    "application_name": "bothends",
    "connect_timeout": "10",
    # A connection that a network has dropped in silence is found within half a minute.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}


def connect_to(address: str) -> psycopg.Connection[Any]:
    """Connect to a user's database.

    Args:
        address: What follows `postgres://`.

    Raises:
        UsageError: If it is not an address.
        EngineError: If the database cannot be reached.
    """
    try:
        parts = psycopg.conninfo.conninfo_to_dict(f"postgresql://{address}")
    except psycopg.ProgrammingError:
        # libpq's message quotes the address, password and all.
        raise UsageError(
            "the address of the PostgreSQL database cannot be read: write "
            "postgres://user@host:5432/database, with special characters as in URLs (%40 for @)"
        ) from None
    return connect_with(**{key: str(value) for key, value in parts.items()})


def connect_with(**address: str) -> psycopg.Connection[Any]:
    """Open a connection that only reads, and returns plain Python values.

    Args:
        address: libpq's parameters.

    Raises:
        EngineError: If the database cannot be reached.
    """
    try:
        connection: psycopg.Connection[Any] = psycopg.connect(
            **{**_DEFAULTS, **address, "client_encoding": "utf8"},  # type: ignore[arg-type]
            autocommit=True,
            # The same query again must cost what it cost before.
            prepare_threshold=None,
        )
        connection.read_only = True
        adapt_values(connection)
    except psycopg.Error as error:
        where = f"{address.get('host', 'this machine')}/{address.get('dbname', '')}".rstrip("/")
        message = " ".join(str(error).split()).rstrip("?.")
        if password := address.get("password"):
            message = message.replace(password, "[redacted]")
        raise EngineError(
            f"cannot connect to PostgreSQL at {where}: {message[:_ERROR_CHARACTERS]}. Check that "
            "it runs and the address; a password comes from the URL, PGPASSWORD or ~/.pgpass"
        ) from None
    return connection


def cancel(connection: psycopg.Connection[Any]) -> None:
    """Ask the server to stop what a connection runs; from any thread."""
    # A server that is gone cannot be told.
    with contextlib.suppress(psycopg.Error):
        connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)
