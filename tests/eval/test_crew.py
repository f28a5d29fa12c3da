"""Work done by several threads: all of it once, in order of starting, and errors are heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from bothends.eval.crew import work_through

ITEMS = tuple(range(200))


@pytest.mark.parametrize("workers", [1, 2, 16, 500])
def test_every_item_is_done_once_and_begun_in_order(workers: int) -> None:
    begun: list[int] = []
    done: list[int] = []
    lock = threading.Lock()

    def begin() -> Callable[[int], bool]:
        def work(item: int) -> bool:
            with lock:
                begun.append(item)
            time.sleep(0.0005)
            done.append(item)
            return True

        return work

    work_through(ITEMS, workers, begin)
    assert sorted(done) == list(ITEMS)
    # Between taking an item and saying so, others may: by no more than there are workers.
    assert all(abs(place - item) < workers for place, item in enumerate(begun))


def test_so_many_are_under_way_at_once() -> None:
    all_here = threading.Barrier(8, timeout=10)

    def begin() -> Callable[[int], bool]:
        return lambda _: all_here.wait() >= 0

    work_through(range(8), 8, begin)


@pytest.mark.parametrize("workers", [1, 4])
def test_an_error_ends_the_work_and_is_raised(workers: int) -> None:
    done: list[int] = []

    def begin() -> Callable[[int], bool]:
        def work(item: int) -> bool:
            if item == 10:
                raise KeyError(item)
            time.sleep(0.001)
            done.append(item)
            return True

        return work

    with pytest.raises(KeyError, match="10"):
        work_through(ITEMS, workers, begin)
    # What was under way is finished, and nothing else is begun.
    assert set(range(10)) <= set(done)
    assert max(done) < 10 + 2 * workers


@pytest.mark.parametrize("workers", [1, 4])
def test_work_ends_where_one_item_says_so(workers: int) -> None:
    done: list[int] = []

    def begin() -> Callable[[int], bool]:
        def work(item: int) -> bool:
            time.sleep(0.001)
            done.append(item)
            return item != 10

        return work

    work_through(ITEMS, workers, begin)
    assert set(range(11)) <= set(done)
    assert max(done) < 11 + 2 * workers
