"""The digest of a query's whole result, computed by PostgreSQL where the rows are."""

from __future__ import annotations

import hashlib

from bothends.engines.base import Outcome

__all__ = ["digest_query", "digest_text"]


def digest_query(sql: str, width: int) -> str:
    """Return the query whose one row digests another query's result, for `digest_text`.

    A row's text tells NULL from an empty text and each column from its neighbours.

    Args:
        sql: The query, admitted, without a semicolon at its end.
        width: How many columns its result has.
    """
    # Names of our own, lest a column is called as the row is.
    names = f"({', '.join(f'c{position}' for position in range(width))})" if width else ""
    # A line of its own each: the query may begin or end with a comment.
    return (
        "SELECT count(*), sum(hashtextextended(whole, 1)::numeric), "  # noqa: S608
        "bit_xor(hashtextextended(whole, 2)) "
        f"FROM (SELECT bothends::text AS whole FROM (\n{sql}\n) AS bothends{names}) AS rows"
    )


def digest_text(answer: Outcome, result: Outcome) -> str | None:
    """Return a result's digest from what its `digest_query` answered; None where that failed.

    `postgres:<rows>:<types>:<sum>:<xor>`: the number of rows, eight hexadecimal digits of SHA-256
    over the types, and two 64-bit hashes of each row's text, of which one is summed and one
    combined by exclusive or. Whatever the order, equal digests mean equal multisets of rows of
    equal types, up to a collision of about 128 bits of hash. Different digests say nothing.
    """
    if answer.status != "ok":
        return None
    count, total, mixed = answer.rows[0]
    typed = hashlib.sha256("|".join(result.types).encode()).hexdigest()[:8]
    return f"postgres:{count}:{typed}:{total or 0}:{mixed or 0}"
