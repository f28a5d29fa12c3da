"""The run directory: append-only, safe to kill, one run only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment
from bothends.eval.manifest import Manifest
from bothends.eval.record import TrialKey
from bothends.eval.store import RunDirectory
from bothends.eval.transcripts import Message, Transcript
from bothends.infra.errors import RecordError

from .trials import make_trial


def make_manifest(fingerprint: str = "f", **changes: object) -> Manifest:
    experiment = Experiment.model_validate(
        {"suite": "tpch", "engine": "sqlite", "models": ("scripted:perfect",)} | changes
    )
    return Manifest(
        name="r",
        created_at="2026-01-01T00:00:00+00:00",
        experiment=experiment,
        models=(),
        questions=(),
        fingerprint=fingerprint,
        engine={},
        machine="m",
        prices={},
        versions={},
        hardware="h",
    )


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    directory = RunDirectory(tmp_path / "runs" / "r")
    directory.start(make_manifest())
    return directory


def test_what_is_appended_is_read_back(directory: RunDirectory) -> None:
    trials = [make_trial(replica=replica) for replica in range(3)]
    for trial in trials:
        directory.append(trial)
    assert list(directory.trials()) == trials
    assert directory.manifest == make_manifest()


def test_the_last_transcripts_of_the_trials_that_are_wanted(directory: RunDirectory) -> None:
    keys = [make_trial(replica=replica).key for replica in range(3)]
    for number, key in enumerate((*keys, keys[0])):
        message = Message(role="user", content=f"message {number}")
        directory.append_transcript(Transcript(key=key, messages=(message,), calls=()))

    def said(of: set[TrialKey] | None) -> list[str]:
        return [str(each.messages[0].content) for each in directory.transcripts(of)]

    assert said(None) == ["message 1", "message 2", "message 3"]
    assert said({keys[0], keys[2]}) == ["message 2", "message 3"]
    assert said(set()) == []


def test_a_record_from_before_steps_were_priced_is_read(directory: RunDirectory) -> None:
    directory.append(make_trial())
    file = directory.path / "trials.jsonl"
    old = json.loads(file.read_text())
    del old["step_usd"]
    file.write_text(json.dumps(old) + "\n")
    (trial,) = directory.trials()
    assert trial.step_usd == ()


def test_a_torn_last_line_is_left_out_and_then_dropped(directory: RunDirectory) -> None:
    first, second = make_trial(replica=0), make_trial(replica=1)
    directory.append(first)
    file = directory.path / "trials.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + second.model_dump_json().encode()[:200])
    assert directory.trials() == (first,)
    directory.start(make_manifest())
    assert file.read_bytes() == whole
    directory.append(second)
    assert directory.trials() == (first, second)


def test_a_damaged_line_is_named(directory: RunDirectory) -> None:
    directory.append(make_trial())
    with (directory.path / "trials.jsonl").open("a") as stream:
        stream.write('{"key": 3}\n')
    with pytest.raises(RecordError, match=r"trials\.jsonl, line 2: "):
        directory.trials()


def test_the_same_run_goes_on(directory: RunDirectory) -> None:
    directory.append(make_trial())
    directory.start(make_manifest())
    assert len(directory.trials()) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (make_manifest(replicas=2), "replicas was 1 and is 2"),
        (make_manifest(engine="spark"), 'engine was "sqlite" and is "spark"'),
        (make_manifest(fingerprint="g"), "the engine, its version or its data are not the same"),
    ],
)
def test_another_run_is_refused_and_nothing_is_lost(
    directory: RunDirectory, changed: Manifest, said: str
) -> None:
    directory.append(make_trial())
    with pytest.raises(RecordError, match=re.escape(said)):
        directory.start(changed)
    assert len(directory.trials()) == 1
    assert directory.manifest == make_manifest()


def test_what_is_no_run_directory_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="it holds no manifest"):
        _ = RunDirectory(tmp_path).manifest
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(RecordError, match="cannot be read"):
        _ = RunDirectory(tmp_path).manifest


def test_a_path_that_cannot_be_a_directory_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot be written"):
        RunDirectory(tmp_path / "file" / "r").start(make_manifest())


def test_two_runs_at_once_in_one_directory_are_refused(directory: RunDirectory) -> None:
    with (
        directory.alone(),
        pytest.raises(RecordError, match="another process is running"),
        RunDirectory(directory.path).alone(),
    ):
        pass
    with directory.alone():
        pass
