"""The digest of a query's whole result, computed by Spark where the rows are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from bothends.engines.base import Outcome

__all__ = ["digest_query", "digest_text", "hashes", "source"]

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


def digest_text(answer: Outcome, types: Sequence[str]) -> str | None:
    """Return a result's digest from what its `digest_query` answered; None where that failed.

    `spark:<rows>:<types>:<sum>:<xor>`: the number of rows, eight hexadecimal digits of SHA-256
    over the types, and two 64-bit hashes of each row, of which one is summed and one combined by
    exclusive or. Whatever the order, equal digests mean equal multisets of rows of equal types,
    up to a collision of about 128 bits of hash. Different digests say nothing: 1 and 1.0 differ.
    """
    if answer.status != "ok":
        return None
    count, total, mixed = answer.rows[0]
    typed = hashlib.sha256("|".join(types).encode()).hexdigest()[:8]
    return f"spark:{count}:{typed}:{total or 0}:{mixed or 0}"


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
