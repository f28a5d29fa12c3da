"""The digest of a query's whole result, computed by Spark where the rows are."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["digest_query", "hashes", "source"]

# xxhash64 skips the NULLs within nested values, cannot hash a map, and takes for equal what a
# collation does.
_UNHASHED = ("array<", "map<", "struct<", "variant", "collate")


def digest_query(sql: str, types: Sequence[str]) -> str | None:
    """Return the query whose one row digests another query's result, for `digest_text`.

    Args:
        sql: The query, admitted, without a semicolon at its end.
        types: The types of its result, as Spark names them.

    Returns:
        The query; None where the result has a type that cannot be hashed.
    """
    if not types or any(part in name for name in types for part in _UNHASHED):
        return None
    columns = [f"c{position}" for position in range(len(types))]
    listed = ", ".join(hashes(columns))
    return f"SELECT count(*), {listed} FROM {source(sql, columns)}"  # noqa: S608


def hashes(expressions: Sequence[str]) -> tuple[str, str]:
    """Return two aggregates that digest the rows of some expressions, whatever the rows' order.

    NULLs are marked apart, since xxhash64 skips them. The number in front makes the two hashes
    independent of each other.
    """
    cells = ", ".join(f"{each}, {each} IS NULL" for each in expressions)
    return (
        f"sum(CAST(xxhash64(1, {cells}) AS DECIMAL(38, 0)))",
        f"bit_xor(xxhash64(2, {cells}))",
    )


def source(sql: str, columns: Sequence[str]) -> str:
    """Return a query as a relation whose columns have these names, whatever its own were."""
    # A line of its own each: the query may begin or end with a comment.
    return f"(\n{sql}\n) AS bothends({', '.join(columns)})"
