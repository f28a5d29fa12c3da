"""Gold results: each executed once, checked, recorded, and kept while a run lasts."""

from __future__ import annotations

import threading
from typing import Protocol

from bothends.engines import Engine, Outcome
from bothends.engines.result_digest import result_digest
from bothends.eval.assessment import Bench, first_rows
from bothends.eval.judging import gold_limits, unfit_gold
from bothends.eval.record import Gold
from bothends.eval.soundness import Soundness, check_gold
from bothends.eval.suites.base import Question

__all__ = ["GoldBook", "GoldStore"]


class GoldStore(Protocol):
    """Where gold results are recorded."""

    def golds(self) -> tuple[Gold, ...]:
        """Return those that are."""

    def append(self, record: Gold) -> Gold:
        """Record one."""


class GoldBook:
    """Gold results, executed once each and kept while the run lasts. Several threads may ask.

    Args:
        suite: The suite's name.
        scale_factor: The data's scale factor.
        bench: Where they are executed.
        store: Where each is recorded the first time.
    """

    def __init__(
        self, suite: str, scale_factor: float | None, bench: Bench, store: GoldStore
    ) -> None:
        self._suite = suite
        self._scale_factor = scale_factor
        self._bench = bench
        self._store = store
        self._sound = {gold.question_id: gold.deterministic for gold in store.golds()}
        self._outcomes: dict[str, Outcome] = {}
        self._asking = threading.Lock()

    def outcome(self, question: Question) -> Outcome:
        """Return what became of a question's gold; not `ok` means that it cannot judge.

        A result of which not everything was kept is `failed` where the engine cannot compare
        such: no prediction could be judged against it.
        """
        with self._asking:
            if question.id not in self._outcomes:
                with self._bench.slots.take() as engine:
                    self._outcomes[question.id] = self._execute(question, engine)
            return self._outcomes[question.id]

    def nondeterministic(self, question: Question) -> bool:
        """Whether gold's own result was shown to be one of several right ones."""
        return self._sound.get(question.id) is False

    def _execute(self, question: Question, engine: Engine) -> Outcome:
        sql = question.gold_sql(engine.name)
        outcome = engine.execute(sql, gold_limits(engine, self._bench.limits))
        facts = outcome.facts() if question.id not in self._sound else None
        unfit = unfit_gold(engine, outcome, self._bench.limits)
        if unfit is not None:
            outcome = Outcome(status="failed", seconds=outcome.seconds, error=unfit)
        if question.id not in self._sound:
            sound = Soundness(None)
            if outcome.status == "ok" and outcome.whole:
                sound = check_gold(engine, sql, outcome, self._bench.limits)
            self._sound[question.id] = sound.deterministic
            self._store.append(
                Gold(
                    suite=self._suite,
                    question_id=question.id,
                    engine=engine.name,
                    scale_factor=self._scale_factor,
                    fingerprint=self._bench.fingerprint,
                    sql=sql,
                    status=outcome.status,
                    error=outcome.error,
                    columns=outcome.columns,
                    row_count=outcome.row_count,
                    digest=outcome.digest or result_digest(outcome),
                    deterministic=sound.deterministic,
                    determinism=sound.reason,
                    seconds=outcome.seconds,
                    facts=facts,
                    first_rows=first_rows(outcome, self._bench.redaction)
                    if self._bench.keeps_gold
                    else (),
                )
            )
        return outcome
