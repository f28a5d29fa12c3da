"""The queries that compare the rows of gold and of a result inside Spark."""

# ruff: noqa: S608 - all text in these queries is ours or a query that the guard admitted

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from bothends.engines.spark_digest import source
from bothends.eval.spark_cells import CellType, Meeting

__all__ = ["Comparison", "Disagreement", "Sources"]

_MARK: Final = Meeting((("mark", "mark"),), (("mark", "mark"),))


class Disagreement(NamedTuple):
    """What `Comparison.near` answers, of the groups that do not agree.

    Attributes:
        groups: How many groups of rows do not agree, place by place.
        rows: How many rows they have, on the larger side each.
        unbalanced: Rows that have no place on the other side.
        doubtful: Places at which it cannot be told.
        fewest: The fewest rows of a group that differs beyond doubt; None where there is none.
    """

    groups: int
    rows: int
    unbalanced: int
    doubtful: int
    fewest: int | None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the rows come from, as relations with columns g0, g1, ... and p0, p1, ...

    Attributes:
        gold: Gold, without a semicolon at its end.
        predicted: The query, likewise.
        gold_types: The types of gold's columns.
        predicted_types: The types of the result's.
    """

    gold: str
    predicted: str
    gold_types: tuple[CellType, ...]
    predicted_types: tuple[CellType, ...]

    @property
    def gold_rows(self) -> str:
        """Gold's rows."""
        return source(self.gold, [f"g{index}" for index in range(len(self.gold_types))])

    @property
    def predicted_rows(self) -> str:
        """The result's rows."""
        return source(self.predicted, [f"p{index}" for index in range(len(self.predicted_types))])

    def marked(self, keys: Sequence[int]) -> tuple[str, str]:
        """Return both with a column `mark`: the group of ties that gold has at a row's place.

        Spark keeps a sort below `monotonically_increasing_id`, which is not deterministic, and
        numbers the rows from partition to partition in the order in which they are sent.

        Args:
            keys: Gold's sort keys; where there are none, each place is a group of its own.
        """
        gold, predicted = _placed(self.gold_rows), _placed(self.predicted_rows)
        if not keys:
            return f"(SELECT *, place AS mark FROM {gold})", (
                f"(SELECT *, place AS mark FROM {predicted})"
            )
        alike = " AND ".join(f"g{key} <=> lag(g{key}) OVER (ORDER BY place)" for key in keys)
        runs = f"(SELECT *, IF({alike}, 0, 1) AS fresh FROM {gold})"
        grouped = (
            "(SELECT *, sum(fresh) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND "
            f"CURRENT ROW) AS mark FROM {runs})"
        )
        marks = f"(SELECT place AS at, mark FROM {grouped})"
        return grouped, (
            f"(SELECT result.*, mark FROM {predicted} AS result JOIN {marks} AS marks "
            "ON result.place = marks.at)"
        )


class Comparison:
    """Gold's rows and the result's under one choice of columns.

    Args:
        sources: Where the rows come from.
        chosen: The predicted column of each gold column.
        meetings: How each pair of them is compared.
        marks: Gold's sort keys, where rows agree only at their place (see `Sources.marked`).
    """

    def __init__(
        self,
        sources: Sources,
        chosen: Mapping[int, int],
        meetings: Sequence[Meeting],
        marks: Sequence[int] | None = None,
    ) -> None:
        self._sources = sources
        self._chosen = chosen
        self._near = [meeting.near for meeting in meetings if meeting.near is not None]
        self._near_columns = [
            pair
            for pair, meeting in zip(chosen.items(), meetings, strict=True)
            if meeting.near is not None
        ]
        self._from = sources.gold_rows, sources.predicted_rows
        if marks is not None:
            self._from = sources.marked(marks)
            meetings = [*meetings, _MARK]
        pairs = [pair for meeting in meetings for pair in meeting.keys]
        self._pairs = pairs
        self._same = [
            pair
            for meeting in meetings
            for pair in (meeting.keys if meeting.near is None else meeting.same)
        ]
        self._keys = [f"k{index}" for index in range(len(pairs))]
        # Of a column that is near the first key is its shape.
        self._shapes = []
        position = 0
        for meeting in meetings:
            if meeting.near is not None:
                self._shapes.append(f"k{position}")
            position += len(meeting.keys)
        doubts = [meeting.doubts for meeting in meetings]
        self._doubts = [" OR ".join(side) for side in zip(*doubts, strict=True)]

    @property
    def near_columns(self) -> int:
        """How many columns are compared within a tolerance."""
        return len(self._near)

    def exactly(self) -> str:
        """The number of distinct rows that one side has more often, whatever the tolerance."""
        keys = ", ".join(f"k{index}" for index in range(len(self._same)))
        sides = " UNION ALL ".join(
            f"SELECT {', '.join(f'{pair[index]} AS k{at}' for at, pair in enumerate(self._same))}, "
            f"{side} AS side FROM {self._from[index]}"
            for index, side in enumerate((1, -1))
        )
        return (
            f"SELECT count(*) FROM (SELECT 1 FROM ({sides}) GROUP BY {keys} HAVING sum(side) <> 0)"
        )

    def as_sets(self) -> str:
        """The number of distinct rows that one side lacks, and of those that are in doubt."""
        keys = ", ".join(self._keys)
        rows = (
            "SELECT min(side) AS least, max(side) AS most, max(doubt) AS doubt "
            f"FROM ({self._union(doubts=True)}) GROUP BY {keys}"
        )
        return f"SELECT count_if(least = most), count_if(doubt) FROM ({rows})"

    def near(self) -> str:
        """What a `Disagreement` holds."""
        return (
            "SELECT count(*), coalesce(sum(places), 0), coalesce(sum(unbalanced), 0), "
            "coalesce(sum(doubtful), 0), min(IF(bad > 0 AND doubtful = 0, places, NULL)) "
            f"FROM ({self._groups()})"
        )

    def rest(self) -> str:
        """The rows of the groups of `near`: side, keys, then each near cell of gold and result."""
        cells = []
        for index, (gold, predicted) in enumerate(self._near_columns):
            kinds = (
                self._sources.gold_types[gold].name,
                self._sources.predicted_types[predicted].name,
            )
            cells.append(
                (
                    f"g{gold} AS ours{index}, CAST(NULL AS {kinds[1]}) AS theirs{index}",
                    f"CAST(NULL AS {kinds[0]}) AS ours{index}, p{predicted} AS theirs{index}",
                )
            )
        same = " AND ".join(f"whole.{key} <=> differing.{key}" for key in self._keys)
        shown = ", ".join(f"ours{index}, theirs{index}" for index in range(len(self._near_columns)))
        keys = ", ".join(self._keys)
        return (
            f"SELECT side, {keys}, {shown} FROM ({self._union(cells)}) AS whole "
            f"LEFT SEMI JOIN ({self._groups()}) AS differing ON {same}"
        )

    def _groups(self) -> str:
        """The groups of rows with equal keys that do not agree when paired in order."""
        keys = ", ".join(self._keys)
        values = [f"v{index}" for index in range(len(self._near))]
        placed = (
            f"SELECT *, row_number() OVER (PARTITION BY {keys}, side "
            f"ORDER BY {', '.join(values)}) AS place FROM ({self._union()})"
        )
        sides = ", ".join(
            f"max(IF(side = {side}, {value}, NULL)) AS {name}{value}"
            for value in values
            for side, name in ((1, "gold_"), (-1, "predicted_"))
        )
        paired = (
            f"SELECT {keys}, place, sum(side) AS balance, {sides} FROM ({placed}) "
            f"GROUP BY {keys}, place"
        )
        conditions = [
            f"({shape} <> 'number' OR "
            + near.within.format(gold=f"gold_{value}", predicted=f"predicted_{value}")
            + ")"
            for shape, near, value in zip(self._shapes, self._near, values, strict=True)
        ]
        checked = f"SELECT {keys}, balance, {' AND '.join(conditions)} AS agree FROM ({paired})"
        return (
            f"SELECT {keys}, count(*) AS places, count_if(balance <> 0) AS unbalanced, "
            "count_if(NOT agree) AS bad, count_if(agree IS NULL) AS doubtful "
            f"FROM ({checked}) GROUP BY {keys} HAVING count_if(agree AND balance = 0) < count(*)"
        )

    def _union(self, cells: Sequence[tuple[str, str]] = (), doubts: bool = False) -> str:
        """Both sides' keys and near values, one below the other: gold's side is 1, the other -1."""
        selects = []
        for index, side in enumerate(("1", "-1")):
            columns = [f"{pair[index]} AS k{at}" for at, pair in enumerate(self._pairs)]
            columns += [f"{near.values[index]} AS v{at}" for at, near in enumerate(self._near)]
            columns += [cell[index] for cell in cells]
            if doubts:
                columns.append(f"{self._doubts[index]} AS doubt")
            selects.append(f"SELECT {', '.join(columns)}, {side} AS side FROM {self._from[index]}")
        return " UNION ALL ".join(selects)


def _placed(rows: str) -> str:
    """Return rows with a column `place`, their number in the order in which they come."""
    numbered = f"(SELECT *, monotonically_increasing_id() AS arrival FROM {rows})"
    return f"(SELECT *, row_number() OVER (ORDER BY arrival) AS place FROM {numbered})"
