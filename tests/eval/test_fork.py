"""Forks take over what still holds, and nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.fork import find_fork
from bothends.eval.record import Trial
from bothends.eval.runner import run_experiment
from bothends.eval.store import RunDirectory
from bothends.eval.watcher import Silent
from bothends.infra.errors import RecordError, UsageError


class Counting(Silent):
    """Counts the trials that are really run."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str, int]] = []

    def trial(self, trial: Trial) -> None:
        self.ran.append((trial.key.question_id, trial.key.model, trial.key.replica))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript("CREATE TABLE item (n INTEGER); INSERT INTO item VALUES (1), (2);")
    connection.close()
    write_questions(tmp_path, gold_of_b="SELECT MAX(n) FROM item")
    return tmp_path


def write_questions(directory: Path, gold_of_b: str) -> None:
    (directory / "q.yaml").write_text(
        "- {id: a, question: 'How many?', gold: SELECT COUNT(*) FROM item}\n"
        f"- {{id: b, question: 'The most?', gold: {gold_of_b}}}\n"
    )


def make(shop: Path, **changes: object) -> Experiment:
    fields: dict[str, object] = {
        "suite": str(shop / "q.yaml"),
        "engine": f"sqlite:///{shop / 'shop.db'}",
        "models": ("scripted:perfect",),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)


def fork(experiment: Experiment, base: Path) -> tuple[RunDirectory, Counting]:
    directory, family = find_fork(experiment, base, None)
    counting = Counting()
    return run_experiment(experiment, directory, fork_from=family, watcher=counting), counting


def test_more_of_the_same_pays_nothing_twice(shop: Path) -> None:
    base = shop / "run"
    first = run_experiment(make(shop, question_ids=("a",)), base)
    before = {file.name: file.read_bytes() for file in base.iterdir()}
    more = make(shop, models=("scripted:perfect", "scripted:wrong_rows"), replicas=2)
    forked, counting = fork(more, base)
    assert forked.path == shop / "run-fork1"
    trials = forked.trials()
    assert trials[0] == first.trials()[0]
    assert len(trials) == len({trial.key for trial in trials}) == 2 * 2 * 2
    assert len(counting.ran) == 7
    assert ("a", "scripted:perfect", 0) not in counting.ran
    assert forked.manifest.forked_from is not None
    assert forked.manifest.forked_from.model_dump() == {"run": "run", "trials": 1}
    assert sorted(gold.question_id for gold in forked.golds()) == ["a", "b"]
    assert {file.name: file.read_bytes() for file in base.iterdir()} == before
    # The same again is not another fork, and goes on where it was.
    again, counting = fork(more, base)
    assert (again.path, counting.ran) == (forked.path, [])
    assert not (shop / "run-fork2").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"recipe": {"check": "off"}},
        {"timeout_s": 7.0},
        {"max_rows": 9},
        {"regimen": {"warmups": 0, "repeats": 2}},
        {"machine": "m7i.xlarge"},
        {"billing": "wall"},
        {"checker": "scripted:perfect"},
        {"base_url": "http://127.0.0.1:9/v1"},
        {"engine_slots": 2},
    ],
    ids=str,
)
def test_what_bears_on_a_trial_lets_none_hold(shop: Path, changes: dict[str, object]) -> None:
    run_experiment(make(shop), shop / "run")
    forked, counting = fork(make(shop, **changes), shop / "run")
    assert sorted(counting.ran) == [("a", "scripted:perfect", 0), ("b", "scripted:perfect", 0)]
    assert forked.manifest.forked_from is not None
    assert forked.manifest.forked_from.trials == 0


def test_other_prices_in_the_same_file_are_noticed(shop: Path) -> None:
    prices = shop / "prices.yaml"
    settings = {"prices": prices, "machine": "mine"}
    prices.write_text("machines: {mine: {usd_per_hour: 1}}")
    run_experiment(make(shop, **settings), shop / "run")
    prices.write_text("machines: {mine: {usd_per_hour: 2}}")
    _, counting = fork(make(shop, **settings, replicas=2), shop / "run")
    assert len(counting.ran) == 4


def test_other_data_and_other_gold_are_noticed(shop: Path) -> None:
    run_experiment(make(shop), shop / "run")
    write_questions(shop, gold_of_b="SELECT MIN(n) FROM item")
    _, counting = fork(make(shop, replicas=2), shop / "run")
    assert ("a", "scripted:perfect", 0) not in counting.ran
    assert ("b", "scripted:perfect", 0) in counting.ran
    with sqlite3.connect(shop / "shop.db") as connection:
        connection.execute("CREATE TABLE more (n INTEGER)")
    connection.close()
    _, counting = fork(make(shop, replicas=3), shop / "run")
    assert len(counting.ran) == 6


def test_what_was_not_measured_is_tried_again(shop: Path) -> None:
    run = run_experiment(make(shop), shop / "run")
    faulty = [
        trial.model_copy(update={"status": "provider_error"} if number == 0 else {})
        for number, trial in enumerate(run.trials())
    ]
    run.write(run.manifest, run.golds(), faulty)
    forked, counting = fork(make(shop, replicas=2), shop / "run")
    assert ("a", "scripted:perfect", 0) in counting.ran
    assert ("b", "scripted:perfect", 0) not in counting.ran
    assert len(forked.trials()) == 4


def test_the_run_of_which_most_holds_is_forked(shop: Path) -> None:
    base = shop / "run"
    run_experiment(make(shop), base)
    fork(make(shop, recipe={"check": "off"}), base)
    forked, counting = fork(make(shop, replicas=2), base)
    assert forked.path == shop / "run-fork2"
    assert forked.manifest.forked_from is not None
    assert forked.manifest.forked_from.model_dump() == {"run": "run", "trials": 2}
    assert len(counting.ran) == 2


def test_a_fork_that_was_killed_before_it_began_begins_again(shop: Path) -> None:
    base = shop / "run"
    run_experiment(make(shop), base)
    # Killed after the trials were written and before the manifest was.
    (shop / "run-fork1").mkdir()
    (shop / "run-fork1" / "trials.jsonl").write_text('{"torn')
    forked, counting = fork(make(shop, replicas=2), base)
    assert forked.path == shop / "run-fork1"
    assert (len(forked.trials()), len(counting.ran)) == (4, 2)


def test_without_fork_what_changed_is_said_and_nothing_is_touched(shop: Path) -> None:
    base = shop / "run"
    run_experiment(make(shop), base)
    before = {file.name: file.read_bytes() for file in base.iterdir()}
    changed = make(shop, replicas=2, recipe={"check": "off"})
    with pytest.raises(RecordError) as caught:
        run_experiment(changed, base)
    assert 'recipe.check was "llm" and is "off"; replicas was 1 and is 2' in str(caught.value)
    assert "--fork" in str(caught.value)
    assert {file.name: file.read_bytes() for file in base.iterdir()} == before


def test_where_a_fork_goes(shop: Path) -> None:
    with pytest.raises(UsageError, match="no run"):
        find_fork(make(shop), shop / "run", None)
    run_experiment(make(shop), shop / "run")
    more = make(shop, replicas=2)
    assert find_fork(more, shop / "run", None) == (shop / "run-fork1", (shop / "run",))
    assert find_fork(more, shop / "run", shop / "mine") == (shop / "mine", (shop / "run",))
    assert find_fork(more, shop / "other", shop / "run") == (shop / "run-fork1", (shop / "run",))
    assert find_fork(make(shop), shop / "run", None) == (shop / "run", ())
