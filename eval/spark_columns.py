"""Gold's columns among a result's, by value and with the rows kept whole, inside Spark."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from bothends.engines import Engine, Limits, Outcome
from bothends.engines.cells import normalise
from bothends.engines.digest import digest_text
from bothends.engines.lexemes import without_semicolon
from bothends.engines.spark_digest import digest_query, hashes
from bothends.eval.effort import Effort, EffortSpentError
from bothends.eval.record import Tolerance
from bothends.eval.rows import Bag, Row
from bothends.eval.search import ColumnSearch
from bothends.eval.spark_cells import Meeting, Near, cell_type, meet
from bothends.eval.spark_rows import Comparison, Disagreement, Sources
from bothends.infra.errors import UnjudgedError

__all__ = ["SparkColumns"]

_MOST_CHECKS: Final = 24
_TIMES: Final = 4
_EXTRA_S: Final = 60.0
_STEPS: Final = 20_000_000


class SparkColumns(ColumnSearch):
    """The columns of two results that stay inside Spark.

    The marks of rows are given by gold's sort keys (see `Sources.marked`).

    Args:
        engine: Where both have executed.
        gold: What gold returned.
        predicted: What the query returned; as many rows.
        queries: Gold and the query.
        limits: What both ran under. All questions together may take four times the time of one
            query and a minute; rows are fetched up to `max_rows`.
        tolerance: How far two numbers may lie apart and still be equal.

    Attributes:
        sources: Where the rows come from.
        as_they_come: Whether the rows were found to agree with each column at gold's place.

    Raises:
        UnjudgedError: If there is a type that is not compared here. So do all methods, where
            something cannot be told.
    """

    def __init__(
        self,
        engine: Engine,
        gold: Outcome,
        predicted: Outcome,
        queries: tuple[str, str],
        limits: Limits,
        tolerance: Tolerance,
    ) -> None:
        super().__init__((len(gold.columns), len(predicted.columns)))
        self._engine = engine
        self._gold = gold
        self._predicted = predicted
        self._limits = limits
        self._tolerance = tolerance
        self._deadline = time.monotonic() + _TIMES * limits.timeout_s + _EXTRA_S
        self._checks = 0
        self.as_they_come = False
        types = [cell_type(name) for name in (*gold.types, *predicted.types)]
        unknown = [
            name
            for name, known in zip((*gold.types, *predicted.types), types, strict=True)
            if known is None
        ]
        if unknown:
            raise _unjudged(f"columns of type {unknown[0]} are not compared inside the engine")
        known = tuple(each for each in types if each is not None)
        self.sources = Sources(
            without_semicolon(queries[0], engine.dialect),
            without_semicolon(queries[1], engine.dialect),
            known[: self.widths[0]],
            known[self.widths[0] :],
        )

    def agree(self, chosen: Mapping[int, int], marks: Sequence[int] | None = None) -> bool:
        """Whether the rows agree on these columns of gold, each with its predicted one."""
        whole = len(chosen) == self.widths[0] == self.widths[1]
        if whole and marks is None and all(a == b for a, b in chosen.items()):
            self.as_they_come = self.same or self._agree(chosen)
            return self.as_they_come
        return self._agree(chosen, marks)

    def _agree(self, chosen: Mapping[int, int], marks: Sequence[int] | None = None) -> bool:
        self._checks += 1
        if self._checks > _MOST_CHECKS:
            raise _unjudged(
                f"{_MOST_CHECKS} ways to choose the columns were tried, and there are more"
            )
        meetings = [self._meeting(*pair) for pair in chosen.items()]
        comparison = Comparison(self.sources, chosen, meetings, marks)
        # Sorting is dear, so first see whether anything is left to sort. A column by itself most
        # often comes here because its hash has told that there is.
        if len(chosen) > 1 or not comparison.near_columns:
            equal = self.ask(comparison.exactly())[0][0] == 0
            if equal or not comparison.near_columns:
                return bool(equal)
            # Rows can agree only where their columns do.
            if any(self._told[pair] is False for pair in chosen.items()):
                return False
        near = Disagreement(*self.ask(comparison.near())[0])
        if not near.groups:
            return True
        if near.unbalanced or near.fewest == 1:
            return False
        if near.fewest is not None and comparison.near_columns == 1:
            return False
        if near.rows <= self._limits.max_rows:
            return self._match_rest(comparison)
        if len(chosen) > 1 and any(b not in self.options[a] for a, b in chosen.items()):
            return False
        raise _unjudged(
            f"{near.rows:,} rows differ in numbers of several columns by so little that only "
            "trying every pairing could tell"
        )

    @cached_property
    def options(self) -> list[list[int]]:
        """For each column of gold the predicted columns with an equal multiset of values."""

        def equal(gold: int, predicted: int) -> bool:
            told = self._told[gold, predicted]
            return self._agree({gold: predicted}) if told is None else told

        width, others = map(range, self.widths)
        return [[b for b in others if equal(a, b)] for a in width]

    @cached_property
    def _told(self) -> dict[tuple[int, int], bool | None]:
        """Whether two columns are equal, as far as aggregates tell; None where they do not."""
        pairs = itertools.product(range(self.widths[0]), range(self.widths[1]))
        meetings = {pair: self._meeting(*pair) for pair in pairs}
        gold, predicted = (
            self.measure(rows, [each for m in meetings.values() for each in _aggregates(m, side)])
            for side, rows in enumerate((self.sources.gold_rows, self.sources.predicted_rows))
        )

        def told(meeting: Meeting) -> bool | None:
            ours = [gold[each] for each in _aggregates(meeting, 0)]
            theirs = [predicted[each] for each in _aggregates(meeting, 1)]
            if meeting.near is None:
                return ours == theirs
            if ours[0] != theirs[0]:
                return False
            if ours[1] == theirs[1]:
                return True
            return None if self._bounded(meeting.near, ours[2:], theirs[2:]) else False

        return {pair: told(meeting) for pair, meeting in meetings.items()}

    def _bounded(self, near: Near, gold: Sequence[Any], predicted: Sequence[Any]) -> bool:
        """Whether least, largest and total of two columns allow them to be equal when sorted."""
        if gold[0] is None or predicted[0] is None:  # no numbers at all
            return True
        count = self._gold.row_count or 0
        # What rounding may do to a number and to a sum of so many.
        one, all_of_them = near.relative + 1e-12, near.relative + 1e-12 + count * 2.0**-52
        allowed = (
            near.half_unit + one * abs(gold[0]),
            near.half_unit + one * abs(gold[1]),
            near.half_unit * count + all_of_them * gold[3],
        )
        return not any(
            abs(right - wrong) > slack
            for right, wrong, slack in zip(gold[:3], predicted[:3], allowed, strict=True)
        )

    @cached_property
    def twins(self) -> list[int]:
        """For each predicted column the first that is identical to it, types and scales too."""
        types = self.sources.predicted_types
        pairs = [
            (one, other)
            for other in range(len(types))
            for one in range(other)
            if types[one] == types[other]
        ]
        questions = [f"count_if(NOT (p{one} <=> p{other}))" for one, other in pairs]
        found = self.measure(self.sources.predicted_rows, questions)
        first = list(range(len(types)))
        for (one, other), question in zip(pairs, questions, strict=True):
            if found[question] == 0:
                first[other] = min(first[other], first[one])
        return first

    @cached_property
    def same(self) -> bool:
        """Whether gold has a digest and the result the same, so that they hold the same rows."""
        types = self._predicted.types
        query = digest_query(self.sources.predicted, types)
        if query is None or self._gold.digest is None or self._gold.types != types:
            return False
        answer = Outcome("ok", rows=self.ask(query))
        return digest_text(self._engine.name, answer, types) == self._gold.digest

    def _meeting(self, gold: int, predicted: int) -> Meeting:
        return meet(
            self.sources.gold_types[gold],
            self.sources.predicted_types[predicted],
            (f"g{gold}", f"p{predicted}"),
            self._tolerance,
        )

    def _match_rest(self, comparison: Comparison) -> bool:
        """Pair off the rows in question as `judge` does."""
        bags: dict[int, list[Row]] = {1: [], -1: []}
        near = 2 * comparison.near_columns
        for side, *cells in self.ask(comparison.rest(), 2 * self._limits.max_rows):
            keys, numbers = cells[:-near], cells[-near:]
            own = numbers[0::2] if side == 1 else numbers[1::2]
            bags[side].append((*map(repr, keys), *map(normalise, own)))
        try:
            return Bag(bags[1]).matches(Bag(bags[-1]), self._tolerance, Effort(_STEPS))
        except EffortSpentError:
            raise _unjudged("too many rows are too much alike to try every pairing") from None

    def measure(self, rows: str, aggregates: Sequence[str]) -> dict[str, Any]:
        """Compute aggregates over a relation, each once, in one query."""
        unique = list(dict.fromkeys(aggregates))
        if not unique:
            return {}
        answer = self.ask(f"SELECT {', '.join(unique)} FROM {rows}")[0]  # noqa: S608
        return dict(zip(unique, answer, strict=True))

    def ask(self, query: str, max_rows: int = 1) -> tuple[tuple[Any, ...], ...]:
        """Have the engine answer a query of ours within what is left of the time."""
        self._engine.prepare()
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise _unjudged("the time for comparing is up")
        limits = replace(self._limits, timeout_s=left_s, max_rows=max_rows, digest=False)
        answer = self._engine.execute(query, limits)
        if answer.status != "ok":
            raise _unjudged(f"the comparison ended as {answer.status}: {answer.error}")
        if not answer.whole:
            raise _unjudged("a text in question is too long to be fetched")
        return answer.rows


def _aggregates(meeting: Meeting, side: int) -> list[str]:
    """Return what tells a column's values: a 64-bit hash, and of numbers also what bounds them."""
    keys, same = (
        hashes([pair[side] for pair in pairs])[0] for pairs in (meeting.keys, meeting.same)
    )
    if meeting.near is None:
        return [same]
    double = meeting.near.doubles[side]
    bounds = f"min({double})", f"max({double})", f"sum({double})", f"sum(abs({double}))"
    return [keys, same, *bounds]


def _unjudged(why: str) -> UnjudgedError:
    return UnjudgedError(f"{why}: raise --max-rows, so that the whole rows are compared")
