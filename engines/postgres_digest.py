"""The digest of a query's whole result, computed by PostgreSQL where the rows are."""

from __future__ import annotations

__all__ = ["digest_query"]


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
