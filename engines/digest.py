"""What a digest that an engine computed is written as."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from bothends.engines.base import Outcome

__all__ = ["digest_text"]


def digest_text(engine: str, answer: Outcome, types: Sequence[str]) -> str | None:
    """Return a result's digest from what its `digest_query` answered; None where that failed.

    `<engine>:<rows>:<types>:<sum>:<xor>`: the number of rows, eight hexadecimal digits of SHA-256
    over the types, and two 64-bit hashes of each row, of which one is summed and one combined by
    exclusive or. Whatever the order, equal digests mean equal multisets of rows of equal types,
    up to a collision of about 128 bits of hash. Different digests say nothing: 1 and 1.0 differ.

    Args:
        engine: The engine's name: hashes of two engines are not comparable.
        answer: One row of three: rows, sum and exclusive or.
        types: The types of the digested result, as the engine names them.
    """
    if answer.status != "ok":
        return None
    count, total, mixed = answer.rows[0]
    typed = hashlib.sha256("|".join(types).encode()).hexdigest()[:8]
    return f"{engine}:{count}:{typed}:{total or 0}:{mixed or 0}"
