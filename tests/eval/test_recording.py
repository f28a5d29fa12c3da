"""Recordings of whole runs: several models, a checker apart, and what happens to a changed run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bothends.agent.models.base import Model
from bothends.agent.models.registry import load_model
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.record import Trial
from bothends.eval.recording import recording_files
from bothends.eval.runner import run_experiment
from bothends.eval.watcher import Silent
from bothends.infra.dataset import Dataset
from bothends.infra.errors import ReplayError, UsageError
from bothends.infra.prices import PriceBook

CHECKER = "scripted:perfect?label=checker&price_as=openai:gpt-4o"
MODELS = (
    "scripted:perfect?label=a%2Fb&price_as=openai:gpt-4o-mini",
    "scripted:flaky?label=a b&p=0.4&seed=5&price_as=openai:gpt-4o-mini",
)


@pytest.fixture
def experiment(tpch_dataset: Dataset) -> Experiment:
    return Experiment(
        suite="tpch",
        engine="sqlite",
        data=tpch_dataset.directory.parent.parent,
        models=MODELS,
        question_ids=("6", "14"),
        regimen=Regimen(warmups=0, repeats=1),
    )


def one(experiment: Experiment, **changes: object) -> Experiment:
    return experiment.model_copy(update={"models": MODELS[:1], **changes})


def essence(trial: Trial) -> tuple[object, ...]:
    return (trial.key.question_id, trial.status, trial.sql, trial.verdict, trial.usage)


def test_several_models_and_a_checker_apart(experiment: Experiment, tmp_path: Path) -> None:
    directory = tmp_path / "recordings"
    recorded = run_experiment(
        experiment.model_copy(update={"checker": CHECKER, "concurrency": 3}),
        tmp_path / "live",
        record=directory,
    ).trials()
    files = sorted(directory.iterdir())
    assert [file.name for file in files] == ["a-b.jsonl", "a-b~2.jsonl"]
    for spec, file in zip(MODELS, files, strict=True):
        mine = [trial for trial in recorded if trial.key.model == spec]
        # The recording alone: its checker is in it.
        again = experiment.model_copy(update={"models": (f"replay:{file}",)})
        replayed = run_experiment(again, tmp_path / file.stem).trials()
        assert len(mine) == len(replayed) == 2
        for old, new in zip(
            sorted(mine, key=question_of), sorted(replayed, key=question_of), strict=True
        ):
            assert essence(new) == essence(old)
            assert new.usage is not None
            assert new.usage.estimated, "a script's tokens are counted, and a replay says so"
            # gpt-4o costs 16 times as much as gpt-4o-mini: a checker priced as its controller is
            # would be seen.
            assert new.cost.llm_usd == pytest.approx(old.cost.llm_usd)
            roles = [step.role for step in new.steps if step.kind == "llm"]
            assert roles == [step.role for step in old.steps if step.kind == "llm"]
            assert "checker" in roles
    header = json.loads(files[0].read_text().splitlines()[0])
    assert (header["label"], header["checker"]["label"]) == ("a/b", "checker")


def question_of(trial: Trial) -> str:
    return trial.key.question_id


def test_a_recording_is_not_added_to_unless_asked(experiment: Experiment, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run_experiment(one(experiment), tmp_path / "first", record=file)
    before = file.read_bytes()
    with pytest.raises(ReplayError, match=r"holds a recording already.*--record-append"):
        run_experiment(one(experiment), tmp_path / "second", record=file)
    assert file.read_bytes() == before
    assert not (tmp_path / "second" / "trials.jsonl").exists()
    more = one(experiment, question_ids=("1",))
    run_experiment(more, tmp_path / "third", record=file, record_append=True)
    assert file.read_bytes().startswith(before)
    every = one(experiment, models=(f"replay:{file}",), question_ids=("1", "6", "14"))
    trials = run_experiment(every, tmp_path / "all").trials()
    assert [trial.status for trial in trials] == ["ok"] * 3


def test_a_run_that_was_stopped_goes_on_with_its_own_recording(
    experiment: Experiment, tmp_path: Path
) -> None:
    class StoppedError(Exception):
        pass

    class Stopper(Silent):
        def trial(self, trial: Trial) -> None:
            raise StoppedError

    file = tmp_path / "r.jsonl"
    with pytest.raises(StoppedError):
        run_experiment(one(experiment), tmp_path / "run", record=file, watcher=Stopper())
    run_experiment(one(experiment), tmp_path / "run", record=file)
    again = one(experiment, models=(f"replay:{file}",))
    trials = run_experiment(again, tmp_path / "again").trials()
    assert [trial.key.question_id for trial in trials] == ["6", "14"]


def test_a_replay_says_where_it_departs(experiment: Experiment, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run_experiment(one(experiment), tmp_path / "live", record=file)
    fewer = experiment.recipe.model_copy(update={"sample_rows": 1})
    changed = one(experiment, models=(f"replay:{file}",), recipe=fewer)
    with pytest.raises(ReplayError) as caught:
        run_experiment(changed, tmp_path / "strict")
    said = str(caught.value)
    # System prompt, question, call and answer of list_tables, call of get_schema, its answer.
    assert "r.jsonl, question '6', replica 0, call 2 (controller)" in said
    assert "message 6 (tool) differs from character" in said
    assert "was recorded" in said
    assert "?strict=off" in said
    assert "\n" not in said
    lenient = changed.model_copy(update={"models": (f"replay:{file}?strict=off",)})
    trials = run_experiment(lenient, tmp_path / "lenient").trials()
    assert [trial.status for trial in trials] == ["ok", "ok"]


def test_a_recording_of_digests_alone_is_replayed_and_hints(
    experiment: Experiment, tmp_path: Path
) -> None:
    file = tmp_path / "r.jsonl"
    run_experiment(one(experiment), tmp_path / "live", record=file)
    header, *lines = map(json.loads, file.read_text().splitlines())
    for line in lines:
        del line["messages"]
        line["prompt_sha256"] = "0" * 64
    file.write_text("".join(json.dumps(each) + "\n" for each in [header, *lines]))
    again = one(experiment, models=(f"replay:{file}",))
    trials = run_experiment(again, tmp_path / "again").trials()
    assert [trial.status for trial in trials] == ["ok", "ok"]
    off = experiment.recipe.model_copy(update={"check": "off"})
    with pytest.raises(ReplayError, match=r"another course .*since call 0 it is not the same"):
        run_experiment(again.model_copy(update={"recipe": off}), tmp_path / "off")


def test_where_recordings_go(tmp_path: Path) -> None:
    prices = PriceBook.load()

    def models(*labels: str) -> list[Model]:
        return [load_model(f"scripted:perfect?label={each}", prices=prices) for each in labels]

    assert recording_files(tmp_path / "r", models("x")) == [tmp_path / "r"]
    names = [file.name for file in recording_files(tmp_path, models("x y", "x/y", "../..", "ü"))]
    assert names == ["x-y.jsonl", "x-y~2.jsonl", "model.jsonl", "ü.jsonl"]
    with pytest.raises(UsageError, match="is a directory: name a file"):
        recording_files(tmp_path, models("x"))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="name a directory"):
        recording_files(tmp_path / "file", models("x", "y"))
