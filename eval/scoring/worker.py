"""Judges the answers to one question after the other, each executed once."""

from __future__ import annotations

from dataclasses import replace

from bothends.engines import Engine, Outcome, open_engine
from bothends.engines.lexemes import without_semicolon
from bothends.engines.result_digest import result_digest
from bothends.eval.judging import gold_limits, unfit_gold, verdict_on
from bothends.eval.official import exact_match, soft_f1
from bothends.eval.scoring.task import Bench, GoldResult, Judged, Result, Task, folded
from bothends.eval.soundness import Soundness, check_gold
from bothends.eval.timing import measure
from bothends.infra.errors import UnjudgedError
from bothends.infra.text import as_cell

__all__ = ["Worker"]

_KEPT_ROWS = 5
# A digest sorts and formats every row, which for large results takes longer than their query.
_DIGESTED_ROWS = 1_000


class Worker:
    """Does tasks over one database at a time.

    Args:
        bench: How.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._open: tuple[str, Engine] | None = None

    def do(self, task: Task) -> Result:
        """Execute a question's gold once, and judge each answer against it.

        Raises:
            EngineError: If the engine cannot be opened over the database.
        """
        engine = self._engine(task.database)
        engine.prepare()
        limits = self._bench.gold_limits
        gold = engine.execute(task.gold_sql, gold_limits(engine, limits))
        facts = gold.facts()
        unfit = unfit_gold(engine, gold, limits)
        if unfit is not None:
            gold = Outcome(status="failed", seconds=gold.seconds, error=unfit)
        sound = Soundness(None)
        if gold.status == "ok" and gold.whole:
            sound = check_gold(engine, task.gold_sql, gold, limits)
        result = GoldResult(
            gold.status,
            gold.error,
            gold.columns,
            gold.row_count,
            gold.digest
            or (result_digest(gold) if (gold.row_count or 0) <= _DIGESTED_ROWS else None),
            gold.seconds,
            sound,
            facts,
        )
        if gold.status != "ok":
            return Result(result)
        same = folded(task.gold_sql, engine.name)
        return Result(
            result,
            {
                key: self._judge(engine, task.gold_sql, gold, sql, repeated=key == same)
                for key, sql in task.answers.items()
            },
        )

    def close(self) -> None:
        """Close the engine."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _engine(self, database: str) -> Engine:
        if self._open is None or self._open[0] != database:
            self.close()
            self._open = (
                database,
                open_engine(self._bench.engine, self._bench.datasets[database]),
            )
        return self._open[1]

    def _judge(
        self, engine: Engine, gold_sql: str, gold: Outcome, sql: str, *, repeated: bool
    ) -> Judged:
        bench = self._bench
        if repeated:
            outcome = gold
        else:
            engine.prepare()
            outcome = engine.execute(sql, bench.limits)
        facts = outcome.facts()
        if outcome.status != "ok":
            return Judged(outcome.status, outcome.error, seconds=outcome.seconds, facts=facts)
        try:
            verdict = verdict_on(
                engine,
                gold,
                outcome,
                gold_sql=gold_sql,
                predicted_sql=sql,
                limits=bench.limits,
            )
        except UnjudgedError as error:
            why = f"cannot be judged: {error}"
            return Judged("unjudged", why, seconds=outcome.seconds, facts=facts)
        if outcome.truncated and verdict.bird_set is None and gold.whole:
            verdict = verdict.model_copy(
                update={"bird_set": self._same_set(engine, gold, sql)},
            )
        right = verdict.focus or verdict.exact or verdict.bird_set
        # Equal queries have equal results, so that others need not be parsed.
        same = verdict.bird_set is not False and exact_match(gold_sql, sql, engine.dialect)
        timing = None
        if right and bench.regimen.repeats:
            timing = measure(engine, gold_sql, sql, bench.regimen, bench.gold_limits)
        return Judged(
            outcome.status,
            outcome.error,
            outcome.columns,
            outcome.row_count,
            tuple(
                tuple(None if cell is None else as_cell(cell) for cell in row)
                for row in outcome.rows[:_KEPT_ROWS]
            ),
            outcome.seconds,
            verdict,
            exact_match=same,
            soft_f1=soft_f1(gold.rows, outcome.rows) if gold.whole and outcome.whole else None,
            timing=timing,
            facts=facts,
        )

    def _same_set(self, engine: Engine, gold: Outcome, sql: str) -> bool | None:
        """Whether a result past the row cap is gold's set, by asking for its distinct rows.

        One more of these than gold has settles it, so that no more are ever held.
        """
        wanted = set(gold.rows)
        inner = without_semicolon(sql, engine.dialect)
        distinct = f"SELECT DISTINCT * FROM (\n{inner}\n) LIMIT {len(wanted) + 1}"  # noqa: S608
        outcome = engine.execute(distinct, replace(self._bench.limits, max_rows=len(wanted) + 1))
        return None if outcome.status != "ok" else set(outcome.rows) == wanted
