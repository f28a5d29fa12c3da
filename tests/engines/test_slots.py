"""Slots: callers take turns, and waiting for one's turn is nobody's time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.engines.slots import EngineSlots, QueuedEngine
from bothends.engines.sqlite import SqliteEngine
from bothends.infra.dataset import Dataset


@pytest.fixture
def engine(items: Dataset) -> Engine:
    return open_engine("sqlite", items)


def test_answers_are_the_engines_own(engine: Engine) -> None:
    queued = QueuedEngine(EngineSlots([engine]))
    sql = "SELECT id, name FROM item ORDER BY id"
    assert (queued.name, queued.dialect, queued.title) == ("sqlite", "sqlite", "SQLite")
    assert queued.lacks == engine.lacks
    assert queued.list_tables() == engine.list_tables()
    assert queued.ddl("item") == engine.ddl("item")
    assert queued.sample("item", 2).rows == engine.sample("item", 2).rows
    assert queued.fingerprint() == engine.fingerprint()
    assert queued.explain(sql).rows == engine.explain(sql).rows
    assert queued.execute(sql, Limits(max_rows=1)).rows == engine.execute(sql).rows[:1]
    assert queued.execute("DROP TABLE item").status == "rejected"
    queued.close()
    assert engine.execute("SELECT 1").rows == ((1,),)


def test_the_clock_stands_still_while_a_call_waits(engine: Engine) -> None:
    slots = EngineSlots([engine])
    queued = QueuedEngine(slots)
    taken = threading.Event()

    def hold() -> None:
        with slots.take():
            taken.set()
            time.sleep(0.5)

    other = threading.Thread(target=hold)
    other.start()
    taken.wait()
    real_s, own_s = time.perf_counter(), queued.clock_s()
    queued.list_tables()
    real_s, own_s = time.perf_counter() - real_s, queued.clock_s() - own_s
    other.join()
    assert real_s >= 0.45
    assert queued.queued_s == pytest.approx(real_s - own_s, abs=1e-3)
    assert own_s < 0.2


def test_one_call_at_a_time_and_every_slot_is_used(items: Dataset) -> None:
    class Watched(SqliteEngine):
        callers = 0
        served = 0

        def _execute(self, sql: str, limits: Limits) -> Outcome:
            self.callers += 1
            assert self.callers == 1, "two at a time"
            time.sleep(0.002)
            self.served += 1
            self.callers -= 1
            return super()._execute(sql, limits)

    engines = [Watched.open(None, items, None) for _ in range(2)]
    slots = EngineSlots(engines)
    outcomes: list[Outcome] = []

    def ask() -> None:
        queued = QueuedEngine(slots)
        outcomes.extend(queued.execute("SELECT count(*) FROM item") for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.rows for outcome in outcomes] == [((3,),)] * 160
    assert all(engine.served >= 20 for engine in engines)
    assert sum(engine.served for engine in engines) == 160


def test_a_slot_is_free_again_after_an_error(engine: Engine, tmp_path: Path) -> None:
    slots = EngineSlots([engine])
    with pytest.raises(ZeroDivisionError), slots.take():
        raise ZeroDivisionError
    with slots.take() as again:
        assert again is engine
