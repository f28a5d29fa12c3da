"""Large results judged inside Spark: the verdicts are those of `judge` on the whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.engines.cells import normalise_column
from bothends.eval.columns import Columns
from bothends.eval.compare import judge
from bothends.eval.effort import Effort
from bothends.eval.judging import unfit_gold, verdict_on
from bothends.eval.large import judge_large
from bothends.eval.record import Tolerance, Verdict
from bothends.eval.spark_cells import CellType
from bothends.eval.spark_columns import SparkColumns
from bothends.eval.spark_rows import Sources
from bothends.infra.errors import UnjudgedError

CAP = Limits(timeout_s=60.0, max_rows=2)


@pytest.fixture(scope="module")
def spark(cluster: Any) -> Iterator[Engine]:
    with open_engine(cluster.state.connect) as engine:
        yield engine


def cut(outcome: Outcome, rows: int = CAP.max_rows) -> Outcome:
    """Return an outcome as it would be under a cap."""
    return replace(outcome, rows=outcome.rows[:rows], truncated=True)


def values(rows: str, types: str, tail: str = "") -> str:
    """Return a query for rows such as `1 a|2 b` with types such as `INT STRING`; _ is NULL."""
    kinds = types.split()
    lines = [line.split() for line in rows.split("|")]
    cells = [
        ", ".join(
            f"CAST({'NULL' if cell == '_' else repr(cell.strip('-') if cell == '--' else cell)} "
            f"AS {kind})"
            for cell, kind in zip(line, kinds, strict=True)
        )
        for line in lines
    ]
    names = ", ".join(f"c{index}" for index in range(len(kinds)))
    return f"SELECT * FROM VALUES ({'), ('.join(cells)}) AS t({names}) {tail}"


# Three rows of every type, chosen so that most meet some others and miss the rest by little.
EVERY_TYPE = {
    "INT": "1 2 _",
    "BIGINT": "9007199254740993 2 _",
    "BOOLEAN": "true false _",
    "DECIMAL(10,2)": "1.00 2.00 _",
    "DECIMAL(10,1)": "0.1 2.0 _",
    "DECIMAL(38,6)": "0.120001 2.000000 _",
    "DOUBLE": "1.000000000001 2 _",
    "DOUBLE  ": "9007199254740992 2 _",
    "DOUBLE   ": "NaN inf _",
    "FLOAT": "0.12 2 _",
    "STRING": "1 2 _",
    "STRING ": "2024-01-31 2024-02-01 _",
    "STRING  ": "2024-01-31T00:00:00 2024-01-31T12:30:00.5 _",
    "DATE": "2024-02-01 2024-01-31 _",
    "TIMESTAMP": "2024-01-31T12:30:00.5 2024-01-31 _",
    "TIMESTAMP_NTZ": "2024-01-31T12:30:00.5 2024-01-31 _",
    "BINARY": "1 2 _",
    "STRING   ": "_ _ _",
    "VOID": "_ _ _",
}


@pytest.mark.slow
def test_columns_of_every_two_types_meet_as_in_memory(spark: Engine) -> None:
    columns = [each.split() for each in EVERY_TYPE.values()]
    rows = "|".join(" ".join(row) for row in zip(*columns, strict=True))
    gold_sql = values(rows, " ".join(EVERY_TYPE)).replace("T00:00:00'", " 00:00:00'")
    gold_sql = gold_sql.replace("T12:30:00.5' AS STRING", " 12:30:00.500000' AS STRING")
    backwards = ", ".join(f"c{index}" for index in reversed(range(len(columns))))
    predicted_sql = f"SELECT {backwards} FROM ({gold_sql}) ORDER BY c0"
    gold, predicted = spark.execute(gold_sql), spark.execute(predicted_sql)
    judging = SparkColumns(
        spark, cut(gold), cut(predicted), (gold_sql, predicted_sql), CAP, Tolerance()
    )
    ours, theirs = (
        [normalise_column(column) for column in zip(*outcome.rows, strict=True)]
        for outcome in (gold, predicted)
    )
    width = len(columns)
    expected = Columns(ours, theirs, 3, Tolerance(), Effort(10_000_000))
    assert dict(enumerate(judging.options)) == expected.options
    # Each column meets itself at least, and some meet more: 1, 1.00, 1.000000000001.
    names = list(EVERY_TYPE)
    met = {
        name: {names[width - 1 - option] for option in options}
        for name, options in zip(names, judging.options, strict=True)
    }
    assert all(name in others for name, others in met.items())
    assert met["INT"] == {"INT", "DECIMAL(10,2)", "DOUBLE"}
    assert met["BIGINT"] == {"BIGINT", "DOUBLE  "}
    assert met["DATE"] == {"DATE", "STRING "}
    assert met["STRING   "] == {"STRING   ", "VOID"}
    assert met["DECIMAL(10,1)"] == {"DECIMAL(10,1)", "DECIMAL(38,6)", "FLOAT"}


class Case(NamedTuple):
    """Two results and the verdict on the second, which is the one that `judge` gives."""

    gold: str
    predicted: str
    error_class: str | None
    ordered: bool = True
    bird_set: bool | None = True
    reason: str = ""
    empty: bool = False


KEYED = values("1 a 0.5|2 b 1.5|3 c _", "INT STRING DOUBLE")
TIED = "1 a|1 b|2 c|2 d"
CASES = {
    "ties may swap": Case(
        values(TIED, "INT STRING", "ORDER BY c0"), values("1 b|1 a|2 d|2 c", "INT STRING"), None
    ),
    "order broken": Case(
        values(TIED, "INT STRING", "ORDER BY c0"),
        values(TIED, "INT STRING", "ORDER BY c0 DESC"),
        None,
        ordered=False,
        reason="order",
    ),
    "key not selected": Case(
        f"SELECT c1 FROM ({values(TIED, 'INT STRING')}) ORDER BY c0 + 1, c1 DESC",
        values("a|b|d|c", "STRING"),
        None,
        ordered=False,
        reason="order",
    ),
    "columns in another order, one more": Case(
        KEYED,
        f"SELECT c2, 7 AS more, c1, c0 FROM ({KEYED})",
        "C",
        bird_set=False,
        reason="1 column",
    ),
    "a column less": Case(
        KEYED, f"SELECT c2, c0 FROM ({KEYED})", "B", bird_set=False, reason="2 columns"
    ),
    "rows put together differently": Case(
        values("1 a|2 b|3 c", "INT STRING"),
        values("1 b|2 a|3 c", "INT STRING"),
        "D",
        bird_set=False,
        reason="each column of gold is there",
    ),
    "another row twice": Case(
        values("1|1|2|3", "INT"), values("1|2|2|3", "INT"), "D", reason="column 1 of gold"
    ),
    "more than noise": Case(
        KEYED,
        values("1 a 0.500001|2 b 1.5|3 c _", "INT STRING DOUBLE"),
        "D",
        bird_set=False,
        reason="column 3 of gold (c2) has no equal column; row 1 has 0.500001 for 0.5",
    ),
    "noise that unsorts the pairs": Case(
        values("1.0 5 x|1.000000000001 4 x|9 9 y|8 8 z", "DOUBLE DOUBLE STRING"),
        values("1.000000000002 5 x|1.0 4 x|9 9 y|8 8 z", "DOUBLE DOUBLE STRING"),
        None,
        bird_set=False,
    ),
    "a decimal of another scale, and a double": Case(
        values("1.25 0.5 1|2.75 1.5 2|3 _ 3", "DECIMAL(10,2) DECIMAL(5,1) INT"),
        values("1.3 0.5 1.00|2.7 1.5 2|3 _ 3", "DECIMAL(10,1) DOUBLE DECIMAL(9,2)"),
        None,
        bird_set=False,
    ),
    "equal but for the types": Case(
        values("1 0.5|2 1.5|3 _", "INT DECIMAL(5,1)"),
        values("1 0.5|2 1.5|3 _", "DOUBLE DOUBLE"),
        None,
        bird_set=None,
    ),
    "NaN": Case(
        values("NaN 1|NaN 2|inf 3", "DOUBLE INT"),
        values("NaN 2|inf 3|NaN 1", "DOUBLE INT"),
        None,
        bird_set=False,
    ),
    "NULL and an empty text": Case(
        values("_ 1|x 2|y 3", "STRING INT"),
        values("-- 1|x 2|y 3", "STRING INT"),
        "D",
        bird_set=False,
        reason="column 1 of gold (c0) has no equal column; row 1 has '' for NULL",
    ),
    "a date and its text": Case(
        values("2024-01-31|2024-02-01|_", "DATE"),
        values("2024-01-31|2024-02-01|_", "STRING"),
        None,
        bird_set=False,
    ),
    "nothing but NULL": Case(
        values("_ _|_ _|_ _", "INT STRING"), values("_ _|_ _|_ _", "STRING INT"), None, empty=True
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_verdict_is_that_of_judge_on_the_whole_rows(spark: Engine, case: Case) -> None:
    gold, predicted = spark.execute(case.gold), spark.execute(case.predicted)
    whole = judge(gold, predicted, gold_sql=case.gold, dialect="spark")
    found = judge_large(
        spark,
        cut(gold),
        cut(predicted),
        gold_sql=case.gold + ";",
        predicted_sql=f"{case.predicted} -- the end",
        limits=CAP,
    )
    known = {"bird_set": found.bird_set} if found.bird_set is None else {}
    assert found == whole.model_copy(update=known)
    assert (found.error_class, found.bird_set) == (case.error_class, case.bird_set)
    assert found.ordered == (case.ordered and case.error_class is None)
    assert found.focus == (case.error_class in (None, "C"))
    assert case.reason in found.reason
    assert found.empty_gold == case.empty


@pytest.mark.slow
def test_what_cannot_be_told_is_not_told(spark: Engine) -> None:
    def judged(gold: str, predicted: str) -> Verdict:
        outcomes = [cut(spark.execute(sql)) for sql in (gold, predicted)]
        return judge_large(spark, *outcomes, gold_sql=gold, predicted_sql=predicted, limits=CAP)

    # Three rows that are alike in all but two floats, within their noise: more than the cap.
    near = values("1.0 5|1.000000000001 4|1 3", "DOUBLE DOUBLE")
    other = values("1.000000000002 5|1.0 4|1.000000000003 3", "DOUBLE DOUBLE")
    with pytest.raises(UnjudgedError, match=r"3 rows differ.*raise --max-rows"):
        judged(near, other)
    with pytest.raises(UnjudgedError, match="array<bigint>"):
        judged("SELECT array(id) FROM range(3)", "SELECT id FROM range(3)")
    sql, wrong = "SELECT id FROM range(3)", "SELECT 1 DIV (id - id) FROM range(3)"
    outcome = cut(spark.execute(sql))
    with pytest.raises(UnjudgedError, match=r"ended as failed.*DIVIDE_BY_ZERO"):
        judge_large(spark, outcome, outcome, gold_sql=sql, predicted_sql=wrong, limits=CAP)


@pytest.mark.slow
def test_the_sort_stays_where_places_are_numbered(spark: Engine) -> None:
    number = CellType("bigint", "integer")
    descending = "SELECT id FROM range(9) ORDER BY id DESC"
    sources = Sources("SELECT 1", descending, (number,), (number,))
    _, placed = sources.marked(())
    assert "Sort [id" in spark.explain(f"SELECT mark, p0 FROM {placed}").rows[0][0]
    rows = spark.execute(f"SELECT mark, p0 FROM {placed}").rows
    assert sorted(rows) == [(place, 9 - place) for place in range(1, 10)]


def test_an_engine_that_cannot_compare_judges_by_count_alone(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    sql = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3"
    more = f"{sql} UNION ALL SELECT 4"
    with open_engine(f"sqlite:///{tmp_path / 'empty.db'}") as sqlite:
        three, four = sqlite.execute(sql, CAP), sqlite.execute(more, CAP)

        def on(gold: Outcome, predicted: Outcome) -> Verdict:
            return verdict_on(sqlite, gold, predicted, gold_sql=sql, predicted_sql=sql, limits=CAP)

        assert (on(three, four).error_class, on(three, four).bird_set) == ("A", None)
        whole = sqlite.execute(sql)
        assert on(whole, whole).exact
        # A kept row that gold lacks settles the sets; a cut cell settles nothing.
        assert on(sqlite.execute("SELECT 7"), four).bird_set is False
        with pytest.raises(UnjudgedError, match=r"3 rows.*raise --max-rows"):
            on(three, three)
        with pytest.raises(UnjudgedError):
            on(whole, replace(whole, cells_cut=True))
        assert unfit_gold(sqlite, whole, CAP) is None
        assert "above the cap of 2" in (unfit_gold(sqlite, three, CAP) or "")
        assert "1,048,576 bytes" in (unfit_gold(sqlite, replace(whole, cells_cut=True), CAP) or "")
