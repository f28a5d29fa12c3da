"""The Python API, as the README shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bothends
from bothends.eval.experiment import Experiment
from bothends.infra.dataset import Dataset


def test_ask_answers_and_accounts(tpch_dataset: Dataset) -> None:
    answer = bothends.ask(
        suite="tpch",
        question_id="6",
        engine="sqlite",
        data=tpch_dataset.directory.parent.parent,
        model="scripted:perfect?price_as=openai:gpt-4o",
    )
    assert isinstance(answer, bothends.Answer)
    assert answer.status == "ok"
    assert answer.row_count == 1
    assert answer.verdict is not None
    assert answer.verdict.exact
    stages_s = sum(stage.seconds for stage in answer.stages.values())
    assert stages_s + answer.overhead_s == pytest.approx(answer.seconds, abs=1e-3)
    assert answer.cost.usd is not None
    assert answer.cost.usd > 0


def test_run_returns_typed_results(tpch_dataset: Dataset, tmp_path: Path) -> None:
    run = bothends.run(
        models=["scripted:perfect", "scripted:missing_column"],
        engine="sqlite",
        data=tpch_dataset.directory.parent.parent,
        question_ids=["1", "3"],
        warmups=0,
        repeats=1,
        sample_rows=0,
        out=tmp_path / "run",
    )
    assert isinstance(run, bothends.Run)
    assert len(run.trials) == 4
    assert [summary.ex.mean for summary in run.summaries.values()] == [1.0, 0.0]
    assert run.report.exists()
    assert bothends.load_run(tmp_path / "run").trials == run.trials


class Lengths:
    """An `Embeddings` of LangChain's, as far as anybody asks: texts of one length are near."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_a_recipe_is_run_priced_and_recorded(tpch_dataset: Dataset, tmp_path: Path) -> None:
    def go(samples: int = 5) -> bothends.Run:
        return bothends.run(
            models=["scripted:split?price_as=openai:gpt-4o"],
            engine="sqlite",
            data=tpch_dataset.directory.parent.parent,
            question_ids=["6"],
            replicas=2,
            concurrency=2,
            warmups=0,
            repeats=1,
            recipe="self-consistency",
            samples=samples,
            linking="embedding",
            linking_tables=2,
            embeddings=Lengths(),
            out=tmp_path / "run",
        )

    run = go()
    for trial in run.trials:
        assert trial.key.recipe == "self-consistency"
        assert trial.verdict is not None
        assert trial.verdict.exact
        assert set(trial.stages) == {"schema", "run"}
        executions = [step for step in trial.steps if step.name == "run_query"]
        assert len(executions) == 5
        # Every draft is paid for, and every execution, at $2.50 and $10 per million tokens of
        # gpt-4o and $0.1008 an hour of the machine.
        calls = [step.usage for step in trial.steps if step.role == "controller" and step.usage]
        tokens = [((use.input_tokens or 0), (use.output_tokens or 0)) for use in calls]
        assert len(tokens) == 5
        llm_usd = sum(sent * 2.5e-6 + said * 10e-6 for sent, said in tokens)
        engine_s = sum(step.engine_s for step in trial.steps)
        assert engine_s > sum(step.engine_s for step in executions) > 0
        assert trial.cost.usd == pytest.approx(llm_usd + engine_s * 0.1008 / 3600)
        assert trial.e2e_s is not None
        assert trial.e2e_s >= sum(step.seconds for step in trial.steps)
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text())["experiment"]["recipe"]
    assert settings["embeddings"] == "Lengths"
    assert (settings["samples"], settings["linking_tables"]) == (5, 2)
    assert "self-consistency, 5 samples, embedding linking of 2 tables by Lengths" in (
        run.report.read_text()
    )
    assert go().trials == run.trials
    with pytest.raises(bothends.BothendsError, match="holds another run"):
        go(samples=4)


def test_an_experiment_is_run_whole_from_a_file_or_an_object(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    experiment = Experiment(
        suite="tpch",
        engine="sqlite",
        models=("scripted:perfect",),
        question_ids=("6",),
        data=tpch_dataset.directory.parent.parent,
    )
    file = tmp_path / "experiment.yaml"
    file.write_text(experiment.model_dump_json(exclude=set(Experiment.SCORING)))
    run = bothends.run(experiment, out=tmp_path / "run")
    assert bothends.run(str(file), out=tmp_path / "run").trials == run.trials
    more = bothends.run(
        experiment.model_copy(update={"replicas": 2}), out=tmp_path / "run", fork=True
    )
    assert more.directory == tmp_path / "run-fork1"
    assert more.trials[0] == run.trials[0]
    with pytest.raises(bothends.BothendsError, match="leave models, replicas out"):
        bothends.run(experiment, models=["scripted:perfect"], replicas=2)
    with pytest.raises(bothends.BothendsError, match="what is to be run"):
        bothends.run()


def test_one_name_is_one_name_and_no_list_of_letters(tpch_dataset: Dataset, tmp_path: Path) -> None:
    run = bothends.run(
        models="scripted:perfect",
        question_ids="14",
        engine="sqlite",
        data=tpch_dataset.directory.parent.parent,
        warmups=0,
        repeats=1,
        out=tmp_path / "run",
    )
    assert [trial.key.question_id for trial in run.trials] == ["14"]
    assert bothends.load_run(str(tmp_path / "run")).missing == 0


def test_settings_that_do_not_fit_are_bothends_errors() -> None:
    with pytest.raises(bothends.BothendsError, match=r"^replicas: "):
        bothends.run(models=["scripted:perfect"], replicas=0)
    with pytest.raises(bothends.BothendsError, match=r"^max_turns: "):
        bothends.run(models=["scripted:perfect"], max_turns=0)
    with pytest.raises(bothends.BothendsError, match="asks no checker"):
        bothends.run(models=["scripted:perfect"], check="off", checker="scripted:perfect")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda column: "x", "fails on a column's name and a text"),
        (lambda column, value: object(), "returned a object for a text"),
        (lambda column, value: 1 / 0, "fails on a column's name and a text"),
    ],
)
def test_a_redaction_that_fails_is_found_before_it_is_paid_for(
    tmp_path: Path, function: Any, said: str
) -> None:
    with pytest.raises(bothends.BothendsError, match=said):
        bothends.run(
            models=["scripted:perfect"], engine="sqlite", redact=function, out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_a_mistake_is_a_bothends_error(tmp_path: Path) -> None:
    with pytest.raises(bothends.BothendsError, match="acme"):
        bothends.ask("How many?", engine="sqlite", data=tmp_path, model="acme:m")
    with pytest.raises(bothends.BothendsError, match="is a script"):
        bothends.ask("How many?", engine="sqlite", data=tmp_path, model="scripted:perfect")


def test_every_public_name_exists() -> None:
    for name in bothends.__all__:
        assert getattr(bothends, name) is not None
    with pytest.raises(AttributeError):
        _ = bothends.nothing  # type: ignore[attr-defined]
