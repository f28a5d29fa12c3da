"""Right or wrong for results of which not everything was kept: compared inside Spark."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from bothends.engines import Capability, Engine, Limits, Outcome
from bothends.engines.lexemes import without_semicolon
from bothends.engines.spark_digest import digest_query, digest_text, hashes
from bothends.eval.compare import different_counts, verdict_of
from bothends.eval.normalise import normalise
from bothends.eval.ordering import sort_columns
from bothends.eval.record import Tolerance, Verdict
from bothends.eval.rows import Bag, Row
from bothends.eval.search import ColumnSearch
from bothends.eval.spark_cells import Meeting, cell_type, meet, meet_as_python
from bothends.eval.spark_rows import Comparison, Near, Sources
from bothends.infra.errors import UnjudgedError

__all__ = ["judge_large"]

_MOST_CHECKS: Final = 24
_TIMES: Final = 4
_EXTRA_S: Final = 60.0
_DEFAULT_TOLERANCE = Tolerance()


def judge_large(
    engine: Engine,
    gold: Outcome,
    predicted: Outcome,
    *,
    gold_sql: str,
    predicted_sql: str,
    limits: Limits,
    tolerance: Tolerance = _DEFAULT_TOLERANCE,
) -> Verdict:
    """Judge a result where it is, by running both queries again inside Spark.

    The verdict is the one that `judge` would give on the whole rows, but for two things: the
    reason names a row that differs only if it is among those kept, and `bird_set` is null where
    a decimal would have to be compared with a double by Python's exact equality. Both queries
    are taken to return the same rows each time.

    Rows whose cells are compared exactly are counted against each other. Where numbers may differ
    within a tolerance, the rows that are equal in all else are sorted by those numbers on either
    side and paired: if all pairs agree, the results are equal. If not, they differ for certain
    where there is one such column (sorting decides for intervals), or one row a side; otherwise
    the rows in question are fetched, if they are few, and paired as `judge` does.

    Args:
        engine: Where both have executed.
        gold: What gold returned; `ok`.
        predicted: What the query returned; `ok`.
        gold_sql: Gold.
        predicted_sql: The query.
        limits: What both ran under. All of this may take four times the time of one query and a
            minute; rows are fetched up to `max_rows`.
        tolerance: How far two numbers may lie apart and still be equal.

    Raises:
        UnjudgedError: If it cannot be told, with the reason and what to do.
        UsageError: If one did not execute, or if gold's SQL cannot be read.
    """
    if gold.row_count != predicted.row_count:
        return different_counts(gold, predicted, tolerance)
    lack = engine.lacks.get(Capability.large_results)
    if lack is not None:
        raise UnjudgedError(f"results of {gold.row_count or 0:,} rows: {lack}")
    judging = _Judging(engine, gold, predicted, gold_sql, predicted_sql, limits, tolerance)

    def in_order() -> bool:
        keys = sort_columns(gold_sql, engine.dialect, gold.columns)
        return keys is None or judging.find(keys) is not None

    verdict = verdict_of(gold, predicted, judging, in_order, bird_set=None, tolerance=tolerance)
    told = {"bird_set": judging.bird_set(), "empty_gold": judging.empty_gold()}
    return verdict.model_copy(update=told)


class _Judging(ColumnSearch[Sequence[int]]):
    """Two results inside Spark; a mark is a sort key of gold's (see `Sources.marked`)."""

    def __init__(
        self,
        engine: Engine,
        gold: Outcome,
        predicted: Outcome,
        gold_sql: str,
        predicted_sql: str,
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
        self._as_they_come = False
        types = [cell_type(name) for name in (*gold.types, *predicted.types)]
        unknown = [
            name
            for name, known in zip((*gold.types, *predicted.types), types, strict=True)
            if known is None
        ]
        if unknown:
            raise _unjudged(f"columns of type {unknown[0]} are not compared inside the engine")
        known = tuple(each for each in types if each is not None)
        self._sources = Sources(
            without_semicolon(gold_sql, engine.dialect),
            without_semicolon(predicted_sql, engine.dialect),
            known[: self.widths[0]],
            known[self.widths[0] :],
        )

    def agree(self, chosen: Mapping[int, int], marks: Sequence[int] | None = None) -> bool:
        """Whether the rows agree on these columns of gold, each with its predicted one."""
        whole = len(chosen) == self.widths[0] == self.widths[1]
        if whole and marks is None and all(a == b for a, b in chosen.items()):
            self._as_they_come = self._same or self._agree(chosen)
            return self._as_they_come
        return self._agree(chosen, marks)

    def _agree(self, chosen: Mapping[int, int], marks: Sequence[int] | None = None) -> bool:
        self._checks += 1
        if self._checks > _MOST_CHECKS:
            raise _unjudged(
                f"{_MOST_CHECKS} ways to choose the columns were tried, and there are more"
            )
        meetings = [self._meeting(*pair) for pair in chosen.items()]
        comparison = Comparison(self._sources, chosen, meetings, marks)
        if not comparison.near_columns:
            return bool(self._ask(comparison.exactly())[0][0] == 0)
        near = Near(*self._ask(comparison.near())[0])
        if not near.groups:
            return True
        if near.unbalanced or near.fewest == 1:
            return False
        if near.fewest is not None and comparison.near_columns == 1:
            return False
        if near.rows <= self._limits.max_rows:
            return self._match_rest(comparison)
        # Rows can agree only where their columns do.
        if len(chosen) > 1 and any(b not in self.options[a] for a, b in chosen.items()):
            return False
        raise _unjudged(
            f"{near.rows:,} rows differ in numbers of several columns by so little that only "
            "trying every pairing could tell"
        )

    @cached_property
    def options(self) -> list[list[int]]:
        """For each column of gold the predicted columns with an equal multiset of values."""
        width, others = map(range, self.widths)
        meetings = {(a, b): self._meeting(a, b) for a in width for b in others}
        gold, predicted = (
            self._measure(rows, [each for m in meetings.values() for each in _aggregates(m, side)])
            for side, rows in enumerate((self._sources.gold_rows, self._sources.predicted_rows))
        )

        def equal(a: int, b: int) -> bool:
            meeting = meetings[a, b]
            ours = [gold[each] for each in _aggregates(meeting, 0)]
            theirs = [predicted[each] for each in _aggregates(meeting, 1)]
            if ours[:2] != theirs[:2]:
                return False
            if meeting.near is None or ours[2:4] == theirs[2:4]:
                return True
            near = meeting.near
            for right, wrong in zip(ours[4:], theirs[4:], strict=True):
                if right is not None and wrong is not None:
                    # What sorting pairs first and last; the smallest slack is for rounding.
                    slack = near.half_unit + (near.relative + 1e-12) * abs(right)
                    if abs(right - wrong) > slack:
                        return False
            return self.agree({a: b})

        return [[b for b in others if equal(a, b)] for a in width]

    @cached_property
    def twins(self) -> list[int]:
        """For each predicted column the first that is identical to it, types and scales too."""
        types = self._sources.predicted_types
        pairs = [
            (one, other)
            for other in range(len(types))
            for one in range(other)
            if types[one] == types[other]
        ]
        questions = [f"count_if(NOT (p{one} <=> p{other}))" for one, other in pairs]
        found = self._measure(self._sources.predicted_rows, questions)
        first = list(range(len(types)))
        for (one, other), question in zip(pairs, questions, strict=True):
            if found[question] == 0:
                first[other] = min(first[other], first[one])
        return first

    def bird_set(self) -> bool | None:
        """Whether the sets of rows are equal as Python compares them; None where in doubt.

        Asked after the columns were found.
        """
        if self.widths[0] != self.widths[1]:
            return False
        types = list(zip(self._sources.gold_types, self._sources.predicted_types, strict=True))
        floats = [f"g{i}" for i, kinds in enumerate(types) if "float" in {k.family for k in kinds}]
        alike = all(gold.family == predicted.family for gold, predicted in types)
        if self._as_they_come and alike and not floats:
            return True
        if self._same:
            nan = f"count_if({' OR '.join(f'isnan({each})' for each in floats)})"
            return bool(self._measure(self._sources.gold_rows, [nan])[nan] == 0)
        meetings = [
            meet_as_python(*kinds, (f"g{index}", f"p{index}")) for index, kinds in enumerate(types)
        ]
        chosen = {index: index for index in range(len(types))}
        lacking, doubtful = self._ask(Comparison(self._sources, chosen, meetings).as_sets())[0]
        if lacking:
            return False
        return None if doubtful else True

    def empty_gold(self) -> bool:
        """Whether gold holds nothing but NULL."""
        if any(cell is not None for row in self._gold.rows for cell in row):
            return False
        counts = [f"count(g{index})" for index in range(self.widths[0])]
        return not any(self._measure(self._sources.gold_rows, counts).values())

    @cached_property
    def _same(self) -> bool:
        """Whether gold has a digest and the result the same, so that they hold the same rows."""
        types = self._predicted.types
        query = digest_query(self._sources.predicted, types)
        if query is None or self._gold.digest is None or self._gold.types != types:
            return False
        return digest_text(Outcome("ok", rows=self._ask(query)), types) == self._gold.digest

    def _meeting(self, gold: int, predicted: int) -> Meeting:
        return meet(
            self._sources.gold_types[gold],
            self._sources.predicted_types[predicted],
            (f"g{gold}", f"p{predicted}"),
            self._tolerance,
        )

    def _match_rest(self, comparison: Comparison) -> bool:
        """Pair off the rows in question as `judge` does."""
        bags: dict[int, list[Row]] = {1: [], -1: []}
        near = 2 * comparison.near_columns
        for side, *cells in self._ask(comparison.rest(), 2 * self._limits.max_rows):
            keys, numbers = cells[:-near], cells[-near:]
            own = numbers[0::2] if side == 1 else numbers[1::2]
            bags[side].append((*map(repr, keys), *map(normalise, own)))
        return Bag(bags[1]).matches(Bag(bags[-1]), self._tolerance)

    def _measure(self, rows: str, aggregates: Sequence[str]) -> dict[str, Any]:
        unique = list(dict.fromkeys(aggregates))
        if not unique:
            return {}
        answer = self._ask(f"SELECT {', '.join(unique)} FROM {rows}")[0]  # noqa: S608
        return dict(zip(unique, answer, strict=True))

    def _ask(self, query: str, max_rows: int = 1) -> tuple[tuple[Any, ...], ...]:
        """Ask the engine within what is left of the time."""
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
    """Return what tells a column's values: two hashes, and of numbers also what bounds them."""
    keys, same = ([pair[side] for pair in pairs] for pairs in (meeting.keys, meeting.same))
    if meeting.near is None:
        return list(hashes(same))
    double = meeting.near.doubles[side]
    return [*hashes(keys), *hashes(same), f"min({double})", f"max({double})"]


def _unjudged(why: str) -> UnjudgedError:
    return UnjudgedError(f"{why}: raise --max-rows, so that the whole rows are compared")
