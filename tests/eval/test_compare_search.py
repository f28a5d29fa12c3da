"""Finding gold's columns: exactly, against trying everything, and within a bound."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bothends.engines import Outcome
from bothends.engines.cells import normalise
from bothends.eval.bird import bird_set
from bothends.eval.compare import judge
from bothends.eval.record import Tolerance, Verdict
from bothends.eval.tolerance import cells_equal
from bothends.infra.errors import UnjudgedError

D = Decimal
Rows = Sequence[tuple[Any, ...]]
TOLERANCE = Tolerance()


def outcome(rows: Rows) -> Outcome:
    width = len(rows[0])
    return Outcome("ok", ("x",) * width, ("any",) * width, tuple(rows), len(rows))


def verdict(gold: Rows, predicted: Rows, sql: str = "SELECT 1") -> Verdict:
    return judge(outcome(gold), outcome(predicted), gold_sql=sql, dialect="spark")


def rows_agree(gold: Rows, predicted: Rows) -> bool:
    """Whether some order of the predicted rows equals gold, cell by cell; all are tried."""
    fits = [
        [all(cells_equal(normalise(a), normalise(b), TOLERANCE) for a, b in zip(*two, strict=True))
         for two in itertools.product([row], predicted)]
        for row in gold
    ]  # fmt: skip
    return any(
        all(fits[row][place] for row, place in enumerate(order))
        for order in itertools.permutations(range(len(predicted)))
    )


def contained(gold: Rows, predicted: Rows) -> bool:
    return len(gold) == len(predicted) and any(
        rows_agree(gold, [tuple(row[i] for i in choice) for row in predicted])
        for choice in itertools.permutations(range(len(predicted[0])), len(gold[0]))
    )


def tables(cells: st.SearchStrategy[Any], widths: tuple[int, int], rows: int) -> Any:
    return st.tuples(
        *(st.lists(st.tuples(*[cells] * width), min_size=rows, max_size=rows) for width in widths)
    )


BITS = st.integers(0, 1)
# 0.3 and 0.30 are one number of two scales: only the first is also 0.34.
NEAR = st.sampled_from([0.3, 0.1 + 0.2, D("0.3"), D("0.30"), D("0.34"), 0.34, D("0.4"), 0, None])


@settings(max_examples=100, deadline=None)
@given(both=st.one_of(tables(BITS, (2, 3), 4), tables(BITS, (3, 4), 3), tables(BITS, (3, 3), 4)))
def test_few_values(both: tuple[Rows, Rows]) -> None:
    found = verdict(*both)
    assert found.focus == contained(*both)
    assert found.exact == (found.focus and len(both[0][0]) == len(both[1][0]))


@settings(max_examples=100, deadline=None)
@given(both=st.one_of(tables(NEAR, (1, 1), 4), tables(NEAR, (2, 2), 3), tables(NEAR, (2, 3), 3)))
def test_values_that_are_nearly_equal(both: tuple[Rows, Rows]) -> None:
    assert verdict(*both).focus == contained(*both)


@settings(max_examples=100, deadline=None)
@given(gold=tables(NEAR, (2,), 4), data=st.data())
def test_values_moved_within_the_tolerance(gold: tuple[Rows], data: st.DataObject) -> None:
    def near(cell: Any) -> Any:
        equal = [None, 0, 0.3, D("0.3"), D("0.30"), D("0.34"), 0.34, D("0.4"), 0.1 + 0.2]
        return data.draw(
            st.sampled_from([e for e in equal if cells_equal(cell, e, TOLERANCE)] or [cell])
        )

    moved = [(near(b), near(a)) for a, b in data.draw(st.permutations(gold[0]))]
    assert verdict(gold[0], moved).exact


def test_a_scale_belongs_to_its_own_cell() -> None:
    assert verdict([(D("0.30"),), (D("0.3"),)], [(D("0.34"),), (D("0.30"),)]).exact
    assert not verdict([(D("0.30"),), (D("0.30"),)], [(D("0.34"),), (D("0.30"),)]).exact


ENGINE_CELLS = st.sampled_from(
    [None, 0, 1, True, False, 1.0, 0.1 + 0.2, 0.3, D("1.00"), D("0.3"), "1", "", b"1", "None"]
)


@settings(max_examples=100, deadline=None)
@given(
    gold=st.lists(st.tuples(ENGINE_CELLS), max_size=3),
    predicted=st.lists(st.tuples(ENGINE_CELLS), max_size=3),
)
def test_bird_set_is_its_script(gold: Rows, predicted: Rows) -> None:
    literal = set(map(tuple, predicted)) == set(map(tuple, gold))
    assert bird_set(gold, predicted) == literal


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(BITS, BITS), min_size=2, max_size=5), data=st.data())
def test_pairing_values_across_rows_is_wrong_unless_the_rows_come_out_equal(
    rows: Rows, data: st.DataObject
) -> None:
    second = data.draw(st.permutations([row[1] for row in rows]))
    mixed = [(row[0], value) for row, value in zip(rows, second, strict=True)]
    swapped = sorted((b, a) for a, b in mixed)
    assert verdict(rows, mixed).exact == (sorted(rows) in (sorted(mixed), swapped))


def shuffled(rows: Rows, seed: int) -> list[tuple[Any, ...]]:
    """The rows in another order, and their columns in another order."""
    chance = random.Random(seed)  # noqa: S311
    order = chance.sample(range(len(rows[0])), len(rows[0]))
    return [tuple(row[i] for i in order) for row in chance.sample(list(rows), len(rows))]


def bits(width: int, count: int) -> list[tuple[int, ...]]:
    """Columns of as many zeros as ones."""
    chance = random.Random(width)  # noqa: S311
    half = [0, 1] * (count // 2)
    return list(zip(*(chance.sample(half, count) for _ in range(width)), strict=True))


def near_identical(width: int, count: int) -> list[tuple[int, ...]]:
    """Columns that are all zeros but for a one."""
    return [tuple(int(row == column % count) for column in range(width)) for row in range(count)]


def circulant(width: int, count: int) -> list[tuple[int, ...]]:
    """Each column is the one before it, shifted: rows and columns all look alike."""
    return [
        tuple(int((row - 2 * column) % count < 3) for column in range(width))
        for row in range(count)
    ]


def identical(width: int, count: int) -> list[tuple[int, ...]]:
    return [tuple(row % (2 + (column > 20)) for column in range(width)) for row in range(count)]


def decimals(width: int, count: int) -> list[tuple[Any, ...]]:
    """Columns of the same decimals in other orders."""
    values = [D(i) / 100 for i in range(count)]
    return list(zip(*(random.Random(c).sample(values, count) for c in range(width)), strict=True))  # noqa: S311


@pytest.mark.parametrize("build", [bits, near_identical, circulant, identical])
@pytest.mark.parametrize("count", [8, 24])
def test_thirty_columns_among_forty(
    build: Callable[[int, int], list[tuple[int, ...]]], count: int
) -> None:
    wide = build(40, count)
    start = time.monotonic()
    assert verdict([row[:30] for row in wide], shuffled(wide, 1)).focus
    # A value that is nowhere in the result, and one more 1 than any column there has.
    for row in (2, 1 - wide[0][0]):
        changed = [(row, *wide[0][1:30]), *(each[:30] for each in wide[1:])]
        wrong = verdict(changed, shuffled(wide, 2))
        assert wrong.focus == contained_column(changed, wide)
    assert time.monotonic() - start < 60


def contained_column(gold: Rows, wide: Rows) -> bool:
    """Whether a table that differs from the wide one in its first column lies in it all the same.

    Only a column of the wide table's own that the others do not need can stand for it.
    """
    columns = list(zip(*wide, strict=True))
    free = [columns[0], *columns[30:]]
    return tuple(row[0] for row in gold) in free


def test_decimals_whose_tolerance_blurs_all_columns() -> None:
    wide = decimals(40, 24)
    assert verdict([row[:30] for row in wide], shuffled(wide, 1)).focus


def test_rounding_in_columns_of_the_same_values() -> None:
    gold = decimals(6, 12)
    rounded = [tuple(round(value, 1) for value in row) for row in gold]
    assert verdict(gold, shuffled(rounded, 3)).focus
    assert not verdict(gold, [(row[0] + 1, *row[1:]) for row in rounded]).focus


def hadamard(order: int) -> list[list[int]]:
    if order == 1:
        return [[0]]
    half = hadamard(order // 2)
    return [*(row + row for row in half), *(row + [1 - bit for bit in row] for row in half)]


def test_what_is_not_decided_within_the_bound_gets_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All columns look alike, and so do all pairs of them.
    gold = [tuple(row[1:]) for row in hadamard(16)]
    assert verdict(gold, shuffled(gold, 5)).exact
    monkeypatch.setattr("bothends.eval.compare._STEPS", 500)
    monkeypatch.setattr("bothends.eval.compare._STEPS_A_CELL", 0)
    with pytest.raises(UnjudgedError, match="too much alike"):
        verdict(gold, shuffled(gold, 5))
    # What is plain is decided all the same.
    assert verdict(gold, gold).exact
    assert verdict(gold, gold[1:]).error_class == "A"
