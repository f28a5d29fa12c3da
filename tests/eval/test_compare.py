"""Verdicts: the cases that evaluators are known to get wrong, and properties that must hold."""

from __future__ import annotations

import itertools
import math
import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bothends.engines import Outcome
from bothends.engines.result_digest import result_digest
from bothends.eval.compare import judge
from bothends.eval.record import Tolerance, Verdict
from bothends.infra.errors import UsageError

D = Decimal
Rows = list[tuple[Any, ...]]


def outcome(rows: Rows, width: int | None = None, names: str = "") -> Outcome:
    width = len(rows[0]) if width is None else width
    columns = tuple(names.split()) or tuple(f"c{i}" for i in range(width))
    return Outcome("ok", columns, ("any",) * width, tuple(rows), len(rows))


def verdict(
    gold: Rows,
    predicted: Rows,
    sql: str = "SELECT 1",
    dialect: str = "spark",
    names: str = "",
    tolerance: Tolerance | None = None,
) -> Verdict:
    return judge(
        outcome(gold, names=names),
        outcome(predicted),
        gold_sql=sql,
        dialect=dialect,
        tolerance=tolerance or Tolerance(),
    )


def equal(gold: Any, predicted: Any, tolerance: Tolerance | None = None) -> bool:
    return verdict([(gold,)], [(predicted,)], tolerance=tolerance).exact


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        (None, None),
        (1, 1.0),
        (1, D("1.00")),
        (1, True),
        (0.0, -0.0),
        (math.nan, float("nan")),
        (D("NaN"), math.nan),
        (math.inf, math.inf),
        (0.1 + 0.2, 0.3),
        (2**53 + 1, 2**53 + 1),
        (D("12345678901234567890123456789012.345"), D("12345678901234567890123456789012.345")),
        (D("0.05"), 0.049985295838397614),  # TPC-H Q1: an average as decimal(…, 2) and as double
        (D("25.522006"), 25.522005853257337),
        (25.522005853257337, D("25.522006")),
        (D("12.345"), D("12.35")),
        (date(2024, 1, 31), "2024-01-31"),
        (datetime(2024, 1, 31, 12, 30), "2024-01-31 12:30:00"),  # noqa: DTZ001
        (b"\x00\x01", bytearray(b"\x00\x01")),
        ([1, 2.0, None], [1.0, D(2), None]),
        ({"a": 1, "b": [0.3]}, {"b": [0.1 + 0.2], "a": True}),
    ],
)
def test_equal_cells(gold: Any, predicted: Any) -> None:
    assert equal(gold, predicted)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        (None, 0),
        (None, ""),
        (None, False),
        (0, None),
        (None, math.nan),
        ("00501", "501"),
        ("00501", 501),
        ("501", 501),
        ("a", "A"),
        ("a", "a "),
        ("1", True),
        (2**53, 2**53 + 1),
        (10**18, 10**18 + 1),
        (D("123456789012.34"), D("123456789012.35")),
        (D("12.34"), 12.346),
        (D("12.34"), 12),
        (D("12.344"), D("12.35")),
        (1.0, 1.0 + 1e-8),
        (math.inf, -math.inf),
        (date(2024, 1, 31), "2024-1-31"),
        (date(2024, 1, 31), "2024-01-31 00:00:00"),
        (date(2024, 1, 31), datetime(2024, 1, 31)),  # noqa: DTZ001
        (b"a", "a"),
        ([1, 2], [2, 1]),
        ([1, 2], "[1, 2]"),
        ([["a", 1]], {"a": 1}),
        ({"a": 1}, {"a": 2}),
    ],
)
def test_unequal_cells(gold: Any, predicted: Any) -> None:
    assert not equal(gold, predicted)


def test_the_tolerance_is_the_one_given_and_is_recorded() -> None:
    strict = Tolerance(relative=0.0, half_unit=False)
    assert not equal(0.1 + 0.2, 0.3, strict)
    assert not equal(D("12.345"), D("12.35"), strict)
    assert equal(100.0, 101.0, Tolerance(relative=0.02))
    assert verdict([(1,)], [(1,)], tolerance=strict).tolerance == strict


def test_rows_are_units() -> None:
    scrambled = verdict([(1, 3), (2, 4)], [(1, 4), (2, 3)])
    assert not scrambled.focus
    assert scrambled.error_class == "D"
    assert scrambled.columns_found == 2
    assert "rows" in scrambled.reason


def test_four_verdicts_differ_on_order_duplicates_and_columns() -> None:
    gold: Rows = [(1, "a"), (2, "b")]
    other_order = verdict(gold, gold[::-1], "SELECT x, y FROM t ORDER BY x", names="x y")
    assert (other_order.bird_set, other_order.exact, other_order.ordered) == (True, True, False)
    assert other_order.error_class is None
    swapped = verdict(gold, [("a", 1), ("b", 2)])
    assert (swapped.bird_set, swapped.exact, swapped.ordered) == (False, True, True)
    repeated = verdict(gold, [*gold, gold[0]])
    assert (repeated.bird_set, repeated.exact, repeated.focus) == (True, False, False)
    assert repeated.error_class == "A"
    wider = verdict(gold, [(1, "x", "a"), (2, "y", "b")])
    assert (wider.bird_set, wider.exact, wider.focus) == (False, False, True)


def test_bird_set_is_python_equality() -> None:
    assert verdict([(1, None)], [(1.0, None)]).bird_set
    assert not verdict([(0.1 + 0.2,)], [(0.3,)]).bird_set
    nan = math.nan
    assert not verdict([(nan,)], [(nan,)]).bird_set
    assert verdict([([1, {"a": [2]}],)], [([1, {"a": [2]}],)]).bird_set
    assert judge(outcome([], 1), outcome([], 1), gold_sql="SELECT 1", dialect="sqlite").bird_set


@pytest.mark.parametrize(
    ("gold", "predicted", "error_class", "found", "precision", "reason"),
    [
        ([(1, 2)], [(1, 2)], None, 2, 1.0, ""),
        ([(1,), (2,), (3,), (4,)], [(1,), (2,), (3,)], "A", 0, 0.0, "3 rows where gold has 4"),
        ([(1, 2, 3)], [(1, 3)], "B", 2, 1.0, "2 columns where gold has 3; column 2 of gold (c1)"),
        ([(1, 2)], [(9, 1, 2, 9)], "C", 2, 0.5, "2 columns more than gold: c0, c3"),
        ([(1, 2)], [(1, 9)], "D", 1, 0.5, "column 2 of gold (c1) has no equal column; row 1 has 9"),
        ([(1, 2)], [(1, 9, 8)], "D", 1, 1 / 3, "column 2 of gold (c1)"),
        ([(1,)], [(2,), (1,)], "A", 0, 0.0, "2 rows where gold has 1"),
    ],
)
def test_what_is_wrong(
    gold: Rows,
    predicted: Rows,
    error_class: str | None,
    found: int,
    precision: float,
    reason: str,
) -> None:
    result = verdict(gold, predicted)
    assert result.error_class == error_class
    assert result.columns_found == found
    assert result.precision == pytest.approx(precision)
    assert result.reason.startswith(reason)
    assert result.focus == (error_class in (None, "C"))


def test_the_first_differing_row_is_told() -> None:
    reason = verdict([("a", 1.5), ("b", 12.7)], [("a", 1.5), ("b", 12.5)]).reason
    assert reason.endswith("row 2 has 12.5 for 12.7")
    assert verdict([("x",)], [(None,)]).reason.endswith("row 1 has NULL for 'x'")


def test_empty_gold_is_flagged() -> None:
    def empty(gold: int, predicted: int) -> Verdict:
        return judge(
            outcome([], gold), outcome([], predicted), gold_sql="SELECT 1", dialect="spark"
        )

    same, wider, narrower = empty(2, 2), empty(2, 3), empty(2, 1)
    assert all(each.empty_gold for each in (same, wider, narrower))
    assert (same.exact, same.focus, same.error_class) == (True, True, None)
    assert (wider.exact, wider.focus, wider.error_class) == (False, True, "C")
    assert (narrower.focus, narrower.error_class, narrower.columns_found) == (False, "B", 1)
    rows = judge(outcome([], 1), outcome([(1,)]), gold_sql="SELECT 1", dialect="spark")
    assert (rows.error_class, rows.empty_gold) == ("A", True)
    # A sum over nothing is one NULL, which any other sum over nothing equals.
    assert verdict([(None,)], [(None,)]).empty_gold
    assert not verdict([(None,), (1,)], [(None,), (1,)]).empty_gold


def test_a_result_that_was_cut() -> None:
    gold = outcome([(1,), (2,)])
    cut = Outcome("ok", ("c0",), ("int",), ((1,), (2,)), 9, truncated=True)
    more = judge(gold, cut, gold_sql="SELECT 1", dialect="spark")
    assert (more.error_class, more.bird_set, more.predicted_rows) == ("A", None, 9)
    assert result_digest(cut) is None
    with pytest.raises(UsageError, match="--max-rows"):
        judge(cut, cut, gold_sql="SELECT 1", dialect="spark")


def test_only_executed_results_are_compared() -> None:
    with pytest.raises(UsageError, match="executed"):
        judge(outcome([(1,)]), Outcome("failed"), gold_sql="SELECT 1", dialect="spark")


GROUPS: Rows = [("a", 2), ("b", 2), ("c", 1)]
TIES_SWAPPED: Rows = [("b", 2), ("a", 2), ("c", 1)]
WRONG: Rows = [("a", 2), ("c", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("sql", "ties_may_swap", "wrong_order"),
    [
        ("SELECT k, n FROM t ORDER BY n DESC", True, False),
        ("SELECT k, n FROM t ORDER BY 2 DESC", True, False),
        ("SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY count(*) DESC", True, False),
        ("SELECT k, count(*) AS N FROM t GROUP BY k ORDER BY n DESC", True, False),
        ("SELECT t.k, t.n FROM t ORDER BY t.n DESC", True, False),
        ("SELECT * FROM t ORDER BY n DESC LIMIT 3", True, False),
        ("WITH u AS (SELECT 1) SELECT k, n FROM t, u ORDER BY n DESC", True, False),
        ("SELECT k, n FROM t UNION SELECT k, n FROM u ORDER BY n DESC", True, False),
        ("(SELECT k, n FROM t ORDER BY n DESC)", True, False),
        # A key that is not in the result: ties cannot be seen.
        ("SELECT k, n FROM t ORDER BY score", False, False),
        ("SELECT k, n FROM t ORDER BY n DESC, score", False, False),
        # The table's n is hidden by another column of that name.
        ("SELECT k, abs(m) AS n FROM t ORDER BY t.n", False, False),
        ("SELECT k, n FROM t ORDER BY n DESC, k", False, False),
        ("SELECT k, n FROM t", True, True),
        ("SELECT k, n FROM (SELECT * FROM t ORDER BY n) AS s", True, True),
        ("SELECT k, sum(n) OVER (ORDER BY n) AS n FROM t", True, True),
    ],
)
def test_order(sql: str, ties_may_swap: bool, wrong_order: bool) -> None:
    assert verdict(GROUPS, GROUPS, sql, names="k n").ordered
    assert verdict(GROUPS, TIES_SWAPPED, sql, names="k n").ordered == ties_may_swap
    wrong = verdict(GROUPS, WRONG, sql, names="k n")
    assert (wrong.exact, wrong.ordered) == (True, wrong_order)
    assert bool(wrong.reason) == (not wrong_order)


def test_order_is_looked_for_under_every_choice_of_columns() -> None:
    # With the columns as they come the rows are in the wrong order; swapped, in the right one.
    result = verdict(
        [(1, 2), (2, 1)], [(2, 1), (1, 2)], "SELECT x, y FROM t ORDER BY x", names="x y"
    )
    assert result.ordered


def test_tolerance_needs_a_matching_not_a_greedy_choice() -> None:
    loose = Tolerance(relative=0.0, half_unit=True)
    # 0.05 equals 0.1 (half a unit of the coarser scale) and itself; 0.14 equals 0.1 only.
    gold: Rows = [(D("0.05"),), (D("0.14"),)]
    assert verdict(gold, [(D("0.1"),), (D("0.05"),)], tolerance=loose).exact
    assert not verdict(gold, [(D("0.1"),), (D("0.2"),)], tolerance=loose).exact
    # Exact equals are given up where another row has no other partner.
    chain: Rows = [(D("0.1"),), (D("0.05"),)]
    assert verdict(chain, [(D("0.1"),), (D("0.14"),)], tolerance=loose).exact
    # One predicted value cannot serve two rows.
    assert not verdict([(1.0,), (1.0,)], [(1.0,), (2.0,)]).exact


def test_noise_in_an_early_column_does_not_unpair_the_rest() -> None:
    gold: Rows = [(1.0, 5.0), (1.0 + 1e-12, 4.0)]
    assert verdict(gold, [(1.0 + 2e-12, 5.0), (1.0, 4.0)]).exact
    assert not verdict(gold, [(1.0, 5.0), (1.0, 5.0)]).exact


def test_many_equal_columns_do_not_explode() -> None:
    width, extra, count = 30, 10, 24
    shuffled = random.Random(7)  # noqa: S311
    gold = [
        ("k",) * 10 + (i % 2,) * 8 + (1 - i % 2,) * 4 + (i,) * 4 + (None,) * 4 for i in range(count)
    ]
    wide = [row + ("k",) * 4 + (i % 2,) * 4 + (i,) * 2 for i, row in enumerate(gold)]
    order = shuffled.sample(range(width + extra), width + extra)
    predicted = [tuple(row[i] for i in order) for row in wide]
    assert verdict(gold, predicted).focus
    one_less = [
        tuple("z" if i in (0, *range(30, 34)) else v for i, v in enumerate(row)) for row in wide
    ]
    result = verdict(gold, [tuple(row[i] for i in order) for row in one_less])
    assert (result.focus, result.columns_found) == (False, width - 1)


def test_columns_of_equal_values_that_only_rows_tell_apart() -> None:
    shuffled = random.Random(11)  # noqa: S311
    bits = [shuffled.sample([0] * 10 + [1] * 10, 20) for _ in range(20)]
    rows = list(zip(*bits, strict=True))
    gold = [row[:14] for row in rows]
    order = shuffled.sample(range(20), 20)
    predicted = [tuple(row[i] for i in order) for row in shuffled.sample(rows, len(rows))]
    assert verdict(gold, predicted).focus
    flipped = [(1 - row[0], *row[1:13], row[12]) for row in gold]
    assert not verdict(flipped, predicted).focus


CELLS = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from([0.1, 0.30000000000000004, D("0.30"), D("0.3"), "a", "b", "", True]),
)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=7)
)


@settings(max_examples=40, deadline=None)
@given(rows=TABLES, data=st.data())
def test_permuting_rows_and_columns_keeps_exact(rows: Rows, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows[0]))))
    shuffled = data.draw(st.permutations(rows))
    permuted = [tuple(row[i] for i in order) for row in shuffled]
    assert verdict(rows, permuted).exact
    assert result_digest(outcome(rows)) == result_digest(outcome(shuffled))
    column = data.draw(st.lists(CELLS, min_size=len(rows), max_size=len(rows)))
    wider = [(extra, *row) for extra, row in zip(column, permuted, strict=True)]
    result = verdict(rows, wider)
    assert (result.focus, result.exact, result.error_class) == (True, False, "C")
    assert result.precision == pytest.approx(len(order) / (len(order) + 1))


@settings(max_examples=50, deadline=None)
@given(rows=TABLES, data=st.data())
def test_a_dropped_row_or_a_changed_cell_breaks_both(rows: Rows, data: st.DataObject) -> None:
    if len(rows) > 1:
        assert verdict(rows, rows[1:]).error_class == "A"
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    changed = [list(each) for each in rows]
    changed[row][column] = "not in gold"
    result = verdict(rows, [tuple(each) for each in changed])
    assert (result.focus, result.exact, result.ordered, result.bird_set) == (False,) * 4
    assert result_digest(outcome(rows)) != result_digest(outcome([tuple(r) for r in changed]))


@settings(max_examples=40, deadline=None)
@given(count=st.integers(2, 6), data=st.data())
def test_pairing_values_across_rows_breaks_both(count: int, data: st.DataObject) -> None:
    gold: Rows = [(f"k{i}", i) for i in range(count)]
    order = data.draw(st.permutations(range(count)).filter(lambda p: list(p) != list(range(count))))
    result = verdict(gold, [(f"k{i}", order[i]) for i in range(count)])
    assert (result.focus, result.columns_found, result.error_class) == (False, 2, "D")


@settings(max_examples=40, deadline=None)
@given(
    gold=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4),
    predicted=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4),
)
def test_focus_agrees_with_trying_everything(gold: Rows, predicted: Rows) -> None:
    def fits(rows: Rows) -> bool:
        return any(
            all(
                equal(a, b)
                for one, other in zip(gold, order, strict=True)
                for a, b in zip(one, other, strict=True)
            )
            for order in itertools.permutations(rows)
        )

    expected = len(gold) == len(predicted) and any(
        fits([tuple(row[i] for i in choice) for row in predicted])
        for choice in itertools.permutations(range(3), 2)
    )
    assert verdict(gold, predicted).focus == expected


def test_digest_ignores_number_types_and_keeps_text_apart() -> None:
    digest = result_digest(outcome([(1, D("2.50"))]))
    assert digest == result_digest(outcome([(1.0, 2.5)]))
    assert len(digest or "") == 64
    assert digest != result_digest(outcome([("1", D("2.50"))]))
    assert result_digest(outcome([(1,), (1,)])) != result_digest(outcome([(1,)]))
    assert result_digest(outcome([(None,)])) != result_digest(outcome([("None",)]))
    assert result_digest(outcome([], 1)) != result_digest(outcome([], 2))
    assert result_digest(Outcome("failed")) is None
