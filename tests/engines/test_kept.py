"""What is kept of a result, and of an error."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from bothends.engines import Limits
from bothends.engines.kept import Kept
from bothends.engines.shorten import shorten

TEXTS = st.text(max_size=40)
CELLS = st.one_of(st.none(), st.integers(), TEXTS, st.binary(max_size=40), st.lists(TEXTS))


def test_many_short_texts_are_not_looked_at() -> None:
    kept = Kept(Limits(max_cell_bytes=10))
    row = ("x" * 10,)
    kept.add([row] * 50, 500, longest_bytes=10)
    assert all(each is row for each in kept.rows)


@settings(max_examples=50)
@given(rows=st.lists(st.tuples(CELLS, TEXTS)), size=st.integers(1, 7), most=st.integers(0, 30))
def test_each_text_is_cut_by_its_bytes(
    rows: list[tuple[object, str]], size: int, most: int
) -> None:
    kept = Kept(Limits(max_cell_bytes=most))
    for start in range(0, len(rows), size):
        kept.add(rows[start : start + size], math.inf)
    assert kept.count == len(kept.rows) == len(rows)
    for (_, before), (_, after) in zip(rows, kept.rows, strict=True):
        assert before.startswith(after)
        assert len(after.encode()) <= most
        # No more is cut than must be: another character would not fit.
        assert before == after or len(before[: len(after) + 1].encode()) > most
    assert kept.cells_cut == (kept.rows != rows)


def test_once_a_row_does_not_fit_none_after_it_is_kept() -> None:
    kept = Kept(Limits(max_bytes=1000))
    kept.add([("x" * 100,), ("x" * 2000,), ("y",)], 2200)
    kept.add([("z",)], 10)
    assert (kept.rows, kept.count, kept.room_rows) == ([("x" * 100,)], 4, 0)
    assert not kept.cells_cut


def test_numbers_are_not_looked_at() -> None:
    kept = Kept(Limits(max_rows=3))
    row = (1, 2.0)
    kept.add([row, row], 32)
    kept.add([row, row], 32)
    kept.skip(5)
    kept.add([], 0)
    assert kept.count == 9
    assert all(each is row for each in kept.rows)
    assert len(kept.rows) == 3


@given(text=st.text(max_size=2000), most=st.integers(100, 900))
def test_an_error_is_one_short_printable_line(text: str, most: int) -> None:
    line = shorten(text, most)
    assert len(line) <= most
    assert line.isprintable()
    assert line == " ".join(line.split())


def test_a_long_error_keeps_both_its_ends() -> None:
    assert shorten("no\n\tsuch\x1b column: a") == "no such column: a"
    line = shorten(f"[CAST] The value '{'x' * 10**6}' cannot be cast to INT. Use try_cast.")
    assert line.startswith("[CAST] The value 'xxx")
    assert line.endswith("xxx' cannot be cast to INT. Use try_cast.")
    assert "characters" in line
    assert len(line) <= 800
