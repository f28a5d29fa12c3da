"""The cases that evaluators get wrong, in one table: what each verdict says, and the class."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from bothends.engines import Outcome
from bothends.eval.compare import judge

D = Decimal
Rows = list[tuple[Any, ...]]
N = None
NOON = datetime(2024, 1, 31, 12, 0)  # noqa: DTZ001
NOON_UTC = datetime(2024, 1, 31, 12, 0, tzinfo=UTC)
NOON_ELSEWHERE = datetime(2024, 1, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))
BAD_UTF8 = b"caf\xe9".decode("utf-8", "replace")  # what the SQLite engine returns

RIGHT = "focus exact ordered bird"
SAME_MULTISET = "focus exact ordered"
CONTAINED = "focus"

# name, gold's rows, predicted rows, the verdicts that hold, class
CASES: list[tuple[str, Rows, Rows, str, str | None]] = [
    # Rows are units.
    ("same rows", [(1, "a"), (2, "b")], [(1, "a"), (2, "b")], RIGHT, None),
    ("same rows, other order", [(1, "a"), (2, "b")], [(2, "b"), (1, "a")], RIGHT, None),
    ("same cells, scrambled rows", [(1, 3), (2, 4)], [(1, 4), (2, 3)], "", "D"),
    ("scrambled, one column more", [(1, 3), (2, 4)], [(1, 4, 0), (2, 3, 0)], "", "D"),
    ("columns swapped", [(1, "a"), (2, "b")], [("a", 1), ("b", 2)], SAME_MULTISET, None),
    ("lost duplicate (extra DISTINCT)", [(1,), (1,), (2,)], [(1,), (2,)], "bird", "A"),
    ("added duplicate (missing DISTINCT)", [(1,), (2,)], [(1,), (1,), (2,)], "bird", "A"),
    ("other duplicate", [(1,), (1,), (2,)], [(1,), (2,), (2,)], "bird", "D"),
    ("a row less", [(1,), (2,)], [(1,)], "", "A"),
    ("a column less", [(1, "a")], [(1,)], "", "B"),
    ("a column more", [(1, "a")], [(1, "a", 9)], CONTAINED, "C"),
    ("a column repeated", [(1, "a")], [(1, "a", "a")], CONTAINED, "C"),
    ("gold's column twice, predicted once", [(1, 1), (2, 2)], [(1, 9), (2, 9)], "", "D"),
    ("constant gold, wide result", [(7,), (7,)], [(7, 7, 1), (7, 7, 2)], CONTAINED, "C"),
    ("constant gold, no constant", [(7,), (7,)], [(7, 1), (8, 7)], "", "D"),
    ("which constant matters not", [(7, 1), (7, 2)], [(7, 2, 7), (7, 1, 7)], CONTAINED, "C"),
    ("empty and empty", [], [], RIGHT, None),
    ("empty gold, one row", [], [(1, 2)], "", "A"),
    # NULL equals NULL alone.
    ("NULL, NULL", [(N,)], [(N,)], RIGHT, None),
    ("NULL, 0", [(N,)], [(0,)], "", "D"),
    ("NULL, empty text", [(N,)], [("",)], "", "D"),
    ("NULL, 'None'", [(N,)], [("None",)], "", "D"),
    ("NULL, false", [(N,)], [(False,)], "", "D"),
    ("NULL, NaN", [(N,)], [(math.nan,)], "", "D"),
    # Numbers meet as numbers, within the tolerance; BIRD knows none.
    ("1, 1.0", [(1,)], [(1.0,)], RIGHT, None),
    ("1, 1.00", [(1,)], [(D("1.00"),)], RIGHT, None),
    ("1.0, 1.00", [(1.0,)], [(D("1.00"),)], RIGHT, None),
    ("true, 1", [(True,)], [(1,)], RIGHT, None),
    ("true, 'true'", [(True,)], [("true",)], "", "D"),
    ("0.1 + 0.2, 0.3", [(0.1 + 0.2,)], [(0.3,)], SAME_MULTISET, None),
    ("fourth digit", [(1.2345,)], [(1.2346,)], "", "D"),
    ("rounded decimal", [(D("2.345"),)], [(D("2.35"),)], SAME_MULTISET, None),
    ("rounded double", [(2.345678,)], [(2.35,)], "", "D"),
    ("NaN, NaN", [(math.nan,)], [(float("nan"),)], SAME_MULTISET, None),
    ("0.0, -0.0", [(0.0,)], [(-0.0,)], RIGHT, None),
    ("infinity, -infinity", [(math.inf,)], [(-math.inf,)], "", "D"),
    ("2^53, 2^53 + 1", [(2**53,)], [(2**53 + 1,)], "", "D"),
    ("2^53 + 1, the double 2^53", [(2**53 + 1,)], [(float(2**53),)], SAME_MULTISET, None),
    # Text is text.
    ("'00501', 501", [("00501",)], [(501,)], "", "D"),
    ("'00501', '501'", [("00501",)], [("501",)], "", "D"),
    ("'a', 'A'", [("a",)], [("A",)], "", "D"),
    ("'a', 'a '", [("a",)], [("a ",)], "", "D"),
    ("invalid UTF-8, the same", [(BAD_UTF8,)], [(BAD_UTF8,)], RIGHT, None),
    ("invalid UTF-8, mended", [(BAD_UTF8,)], [("café",)], "", "D"),
    ("text, bytes", [("a",)], [(b"a",)], "", "D"),
    # Dates; SQLite keeps them as text.
    ("date, its text", [("2024-01-31",)], [(date(2024, 1, 31),)], SAME_MULTISET, None),
    ("date, midnight", [(date(2024, 1, 31),)], [(datetime(2024, 1, 31),)], "", "D"),  # noqa: DTZ001
    ("timestamp, its text", [(NOON,)], [("2024-01-31 12:00:00",)], SAME_MULTISET, None),
    ("one moment in two zones", [(NOON_UTC,)], [(NOON_ELSEWHERE,)], RIGHT, None),
    ("with a zone, without", [(NOON_UTC,)], [(NOON,)], "", "D"),
    # Nested values.
    ("arrays", [([1, 2, N],)], [([1.0, D(2), N],)], RIGHT, None),
    ("arrays, other order", [([1, 2],)], [([2, 1],)], "", "D"),
    ("struct, fields as named", [({"a": 1, "b": [0.3]},)], [({"b": [0.3], "a": 1},)], RIGHT, None),
    ("struct, noise", [({"a": 0.1 + 0.2},)], [({"a": 0.3},)], SAME_MULTISET, None),
    ("struct, other field", [({"a": 1},)], [({"b": 1},)], "", "D"),
    ("array, its text", [([1, 2],)], [("[1, 2]",)], "", "D"),
]


@pytest.mark.parametrize(
    ("gold", "predicted", "holds", "error_class"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_case(gold: Rows, predicted: Rows, holds: str, error_class: str | None) -> None:
    # The names of columns say nothing: all are the same.
    def outcome(rows: Rows) -> Outcome:
        width = len(rows[0]) if rows else 1
        return Outcome("ok", ("x",) * width, ("any",) * width, tuple(rows), len(rows))

    verdict = judge(outcome(gold), outcome(predicted), gold_sql="SELECT x FROM t", dialect="spark")
    found = {
        "focus": verdict.focus,
        "exact": verdict.exact,
        "ordered": verdict.ordered,
        "bird": verdict.bird_set,
    }
    assert " ".join(name for name, true in found.items() if true) == holds
    assert verdict.error_class == error_class
    assert verdict.empty_gold == (not gold or gold == [(N,)])


def test_ten_million_rows_where_gold_has_ten_are_judged_without_them() -> None:
    gold = Outcome("ok", ("x",), ("int",), tuple((i,) for i in range(10)), 10)
    # A kept row that gold lacks settles BIRD's rule too; where all kept ones are gold's, the others
    # could.
    for numbers, bird_set in ((range(100), False), ([0] * 100, None)):
        kept = tuple((number,) for number in numbers)
        result = Outcome("ok", ("x",), ("int",), kept, 10_000_000, truncated=True)
        verdict = judge(gold, result, gold_sql="SELECT x FROM t", dialect="spark")
        assert (verdict.focus, verdict.exact, verdict.ordered) == (False,) * 3
        assert verdict.bird_set is bird_set
        assert (verdict.error_class, verdict.predicted_rows) == ("A", 10_000_000)
