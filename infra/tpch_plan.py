"""What TPC-H takes before it is made: bytes by table, and the files each table is cut into."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bothends.infra.errors import DataError

__all__ = ["PART_BYTES", "TablePlan", "check_scale_factor", "plan_tables"]

PART_BYTES: Final = 128_000_000
"""A table gets one file for each so many bytes of it: what Spark reads as one partition."""

# What the generator's Parquet files take at scale factor 1, as measured.
_BYTES_AT_1: Final[Mapping[str, int]] = MappingProxyType(
    {
        "supplier": 900_000,
        "customer": 14_000_000,
        "part": 7_000_000,
        "partsupp": 45_000_000,
        "orders": 63_500_000,
        "lineitem": 232_000_000,
    }
)
# Long keys compress less: lineitem and orders take so much more for each tenfold above 1, as
# measured at 10, 100 and 1000 (within 4% of it).
_GROWING: Final = ("orders", "lineitem")
_GROWTH: Final = 0.09
_FIXED_BYTES: Final[Mapping[str, int]] = MappingProxyType({"region": 1_800, "nation": 3_400})


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What a table is expected to be.

    Attributes:
        table: Its name.
        size_bytes: Bytes of Parquet that it takes, about.
        parts: Files that it is cut into.
    """

    table: str
    size_bytes: int
    parts: int


def check_scale_factor(scale_factor: float) -> None:
    """Refuse what is no scale factor.

    Raises:
        DataError: If it is not a positive, finite number.
    """
    if not (math.isfinite(scale_factor) and scale_factor > 0):
        raise DataError(
            f"scale factor {scale_factor:g} is not a number above 0; give 0.01 or 1, say"
        )


def plan_tables(scale_factor: float, part_bytes: int = PART_BYTES) -> tuple[TablePlan, ...]:
    """Return what each of the eight tables is expected to be, the small ones first.

    Args:
        scale_factor: The scale factor.
        part_bytes: A table gets one file for each so many bytes, and at least one.

    Raises:
        DataError: If it is no scale factor.
    """
    check_scale_factor(scale_factor)
    grown = 1 + _GROWTH * max(0.0, math.log10(scale_factor))
    sizes = dict(_FIXED_BYTES) | {
        table: round(at_1 * scale_factor * (grown if table in _GROWING else 1))
        for table, at_1 in _BYTES_AT_1.items()
    }
    return tuple(
        TablePlan(
            table,
            size_bytes,
            # Those of five and 25 rows are the same at every scale factor, and never cut.
            1 if table in _FIXED_BYTES else max(1, -(-size_bytes // part_bytes)),
        )
        for table, size_bytes in sizes.items()
    )
