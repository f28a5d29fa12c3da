"""The Python API: `ask` one question, `run` an experiment, `score` predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bothends.agent.recipe import CheckMode, LinkingMode, Recipe, RecipeName
from bothends.agent.retry import RetryPolicy
from bothends.agent.sampling import Sampling
from bothends.arguments import made, names
from bothends.engines.base import Limits
from bothends.eval.experiment import Billing, Experiment, Regimen
from bothends.infra.errors import UsageError
from bothends.launch import default_directory, refuse_settings, run_whole
from bothends.results import Run, load_run, write_reports
from bothends.tools.preflight import Preflight

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.embeddings import Embedder
    from bothends.eval.ask import Answer
    from bothends.tools.text import Redaction

__all__ = ["Run", "ask", "default_directory", "load_run", "run", "score", "write_reports"]


def ask(
    question: str | None = None,
    *,
    model: str,
    engine: str = "spark",
    suite: str | None = None,
    question_id: str | None = None,
    scale_factor: float | None = None,
    data: Path | str = "data",
    checker: str | None = None,
    base_url: str | None = None,
    sampling: Sampling | None = None,
    recipe: RecipeName = "react",
    check: CheckMode = "llm",
    max_turns: int = 12,
    sample_rows: int = 3,
    observation_chars: int = 32_000,
    run_answer_sql: bool = False,
    linking: LinkingMode = "none",
    linking_tables: int = 8,
    embeddings: str | Embedder | None = None,
    samples: int = 5,
    corrections: int = 2,
    timeout_s: float = 300.0,
    max_rows: int = 100_000,
    preflight: Preflight | None = None,
    machine: str = "m7i.large",
    billing: Billing = "busy",
    prices: Path | str | None = None,
    callbacks: Sequence[BaseCallbackHandler] = (),
    redact: Redaction | str | None = None,
) -> Answer:
    """Let an agent answer one question over a database.

    Args:
        question: The question in words; or None with `suite` and `question_id`.
        model: The controller, `provider:model`, as in `openai:gpt-5.2`.
        engine: `spark`, `postgres` or `sqlite` over `data` or a suite's data, or a database of
            yours: `postgres://user@host/database`, `sqlite:///path/to/file.db`, `spark://host:port`
            (a standalone cluster), `sc://host:port` (a Spark Connect server).
        suite: A suite whose data is asked, such as `tpch`; generated where it is missing.
        question_id: A question of the suite.
        scale_factor: The scale factor of the suite's data; 0.01 for None, where it has any.
        data: Where the suite's data is kept, or a directory of Parquet tables of your own.
        checker: The model inside `check_query`; the controller's where None.
        base_url: Address of an OpenAI-compatible server.
        sampling: What hosted models sample with; their own options win.
        recipe: `react` (four tools), `single` (one call with the schema in the prompt),
            `single+correct` (with the engine's error fed back) or `self-consistency` (a vote over
            several drafts' results).
        check: What `check_query` does; of `react` only.
        max_turns: Turns after which the agent gives up.
        sample_rows: Sample rows in `get_schema`.
        observation_chars: Characters that one tool call shows the model at most.
        run_answer_sql: Whether SQL in a final answer that called no tool is run.
        linking: Which tables the prompt of the recipes other than `react` shows: `none` (all),
            `lexical` or `embedding`.
        linking_tables: How many tables such a linking chooses.
        embeddings: For `embedding`: `provider:model`, or any LangChain `Embeddings` object.
        samples: Drafts of `self-consistency`.
        corrections: Rounds of correction in `single+correct` at most.
        timeout_s: Seconds that the query may take.
        max_rows: Rows of the result that are kept.
        preflight: What a query is refused for before it runs; None for nothing.
        machine: What the engine's work is charged at; see `Experiment.machine`.
        billing: `busy` or `wall`.
        prices: YAML file of prices that override the bundled ones.
        callbacks: LangChain callback handlers, which see every call.
        redact: A function, or its name as `module:function`, that is given each result cell's
            column and value before a model sees it, and returns what takes its place. The rows
            that are returned are the true ones.

    Returns:
        The SQL, the rows, and what each stage took in seconds, tokens and dollars.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached.
    """
    from bothends.eval.ask import answer_question
    from bothends.eval.redaction import load_redaction

    return answer_question(
        question,
        model=model,
        engine=engine,
        suite=suite,
        question_id=question_id,
        scale_factor=scale_factor,
        data=Path(data),
        checker=checker,
        base_url=base_url,
        sampling=sampling,
        recipe=made(
            Recipe,
            name=recipe,
            check=check,
            max_turns=max_turns,
            sample_rows=sample_rows,
            observation_chars=observation_chars,
            run_answer_sql=run_answer_sql,
            linking=linking,
            linking_tables=linking_tables,
            embeddings=embeddings,
            samples=samples,
            corrections=corrections,
        ),
        limits=Limits(timeout_s=timeout_s, max_rows=max_rows),
        preflight=preflight or Preflight(),
        machine=machine,
        billing=billing,
        prices_file=Path(prices) if prices else None,
        callbacks=callbacks,
        redaction=load_redaction(redact) if isinstance(redact, str) else redact,
        phase=lambda _: None,
    )


def run(
    experiment: Experiment | Path | str | None = None,
    *,
    models: Sequence[str] = (),
    suite: str = "tpch",
    engine: str = "spark",
    scale_factor: float | None = None,
    question_ids: Sequence[str] | None = None,
    databases: Sequence[str] | None = None,
    difficulties: Sequence[str] | None = None,
    sample: int | None = None,
    sample_seed: int = 0,
    replicas: int = 1,
    concurrency: int = 1,
    engine_slots: int = 1,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    data: Path | str = "data",
    out: Path | str | None = None,
    checker: str | None = None,
    base_url: str | None = None,
    sampling: Sampling | None = None,
    retry: RetryPolicy | None = None,
    recipe: RecipeName = "react",
    check: CheckMode = "llm",
    max_turns: int = 12,
    sample_rows: int = 3,
    observation_chars: int = 32_000,
    run_answer_sql: bool = False,
    linking: LinkingMode = "none",
    linking_tables: int = 8,
    embeddings: str | Embedder | None = None,
    samples: int = 5,
    corrections: int = 2,
    timeout_s: float = 300.0,
    max_rows: int = 100_000,
    preflight: Preflight | None = None,
    warmups: int = 1,
    repeats: int = 3,
    machine: str = "m7i.large",
    billing: Billing = "busy",
    prices: Path | str | None = None,
    redact: Redaction | str | None = None,
    transcripts: bool = True,
    record: Path | str | None = None,
    record_append: bool = False,
    callbacks: Sequence[BaseCallbackHandler] = (),
    fork: bool = False,
) -> Run:
    """Run a suite against models, or what of it has not been run yet, and report.

    Args:
        experiment: All settings at once: an experiment, or the path of its YAML file. Beside it
            only `out`, `record`, `fork` and `redact` may be given.
        models: The controllers, each `provider:model?option=value`.
        suite: The suite: `tpch`, `bird`, `spider`, or a YAML or JSONL file of questions.
        engine: The engine.
        scale_factor: The scale factor of its data; 0.01 for None, where it has any.
        question_ids: The questions; all of them for None.
        databases: Only questions over these databases.
        difficulties: Only questions of these difficulties.
        sample: How many of the questions that remain are drawn; all of them for None.
        sample_seed: The seed of that draw.
        replicas: How often each question is asked of each model.
        concurrency: Trials that are under way at the same time.
        engine_slots: Queries that run at the same time, each on an engine of its own.
        budget_usd: Dollars that all trials may cost; the run ends before the next would pass them.
        budget_tokens: Tokens that they may take, likewise.
        data: Where the data is kept; generated where it is missing.
        out: The run directory; one below `runs/`, named after the experiment, for None.
        checker: The model inside `check_query`; the controller's where None.
        base_url: Address of an OpenAI-compatible server.
        sampling: What hosted models sample with; their own options win.
        retry: How faults of the models' providers are retried.
        recipe: `react` (four tools), `single` (one call with the schema in the prompt),
            `single+correct` (with the engine's error fed back) or `self-consistency` (a vote over
            several drafts' results).
        check: What `check_query` does; of `react` only.
        max_turns: Turns after which an agent gives up.
        sample_rows: Sample rows in `get_schema`.
        observation_chars: Characters that one tool call shows the model at most.
        run_answer_sql: Whether SQL in a final answer that called no tool is run.
        linking: Which tables the prompt of the recipes other than `react` shows: `none` (all),
            `lexical` or `embedding`.
        linking_tables: How many tables such a linking chooses.
        embeddings: For `embedding`: `provider:model`, or any LangChain `Embeddings` object.
        samples: Drafts of `self-consistency`.
        corrections: Rounds of correction in `single+correct` at most.
        timeout_s: Seconds that one query may take.
        max_rows: Rows of a result that are kept and judged.
        preflight: What a query is refused for before it runs; None for nothing.
        warmups: Untimed executions of gold and of each generated query.
        repeats: Timed executions of gold and of each generated query.
        machine: What the engine's work is charged at; see `Experiment.machine`.
        billing: `busy` or `wall`.
        prices: YAML file of prices that override the bundled ones.
        redact: A function, or its name as `module:function`, that is given each result cell's
            column and value before a model sees it or it is kept, and returns what takes its
            place. Judging and timing use the true values.
        transcripts: Whether the conversations are kept; if not, only the SQL is.
        record: A file in which the model's replies are recorded, for `replay:`; where there are
            several models, a directory.
        record_append: Whether that may be another run's recording, which is added to.
        callbacks: LangChain callback handlers, which see every call of every trial.
        fork: Whether to go on in a new run directory, with the trials that still hold, where the
            run directory holds another run.

    Returns:
        The trials with their metrics; `report.html` and CSV files are in its directory.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached. What was
            measured before is kept, and the same call goes on from there.
    """
    if experiment is not None:
        refuse_settings(locals(), run)
    recording = {"record": record and Path(record), "record_append": record_append}
    if experiment is not None:
        return run_whole(experiment, out, recording, redact, callbacks=callbacks, fork=fork)
    if not models:
        raise UsageError("say what is to be run: an experiment, its file, or models")
    experiment = made(
        Experiment,
        suite=suite,
        question_ids=names(question_ids),
        databases=names(databases),
        difficulties=names(difficulties),
        sample=sample,
        sample_seed=sample_seed,
        engine=engine,
        scale_factor=scale_factor,
        data=Path(data),
        models=names(models) or (),
        checker=checker,
        base_url=base_url,
        sampling=sampling or Sampling(),
        retry=retry or RetryPolicy(),
        recipe=made(
            Recipe,
            name=recipe,
            check=check,
            max_turns=max_turns,
            sample_rows=sample_rows,
            observation_chars=observation_chars,
            run_answer_sql=run_answer_sql,
            linking=linking,
            linking_tables=linking_tables,
            embeddings=embeddings,
            samples=samples,
            corrections=corrections,
        ),
        replicas=replicas,
        concurrency=concurrency,
        engine_slots=engine_slots,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
        timeout_s=timeout_s,
        max_rows=max_rows,
        preflight=preflight or Preflight(),
        regimen=made(Regimen, warmups=warmups, repeats=repeats),
        machine=machine,
        billing=billing,
        prices=Path(prices) if prices else None,
        transcripts=transcripts,
    )
    return run_whole(experiment, out, recording, redact, callbacks=callbacks, fork=fork)


def score(
    predictions: Sequence[Path | str],
    *,
    suite: str,
    data: Path | str,
    engine: str = "sqlite",
    question_ids: Sequence[str] | None = None,
    databases: Sequence[str] | None = None,
    difficulties: Sequence[str] | None = None,
    sample: int | None = None,
    sample_seed: int = 0,
    scale_factor: float | None = None,
    out: Path | str | None = None,
    models: Sequence[str] = (),
    timeout_s: float = 30.0,
    gold_timeout_s: float = 300.0,
    max_rows: int = 100_000,
    warmups: int = 1,
    repeats: int = 0,
    workers: int | None = None,
    machine: str = "m7i.large",
    billing: Billing = "busy",
    prices: Path | str | None = None,
) -> Run:
    """Score predictions made elsewhere, without an agent, and report.

    Args:
        predictions: Files, or directories of `<id>.sql` files.
        suite: The suite: `bird`, `spider`, `tpch`, or a YAML or JSONL file of questions.
        data: The directory that holds its data.
        engine: The engine that executes them.
        question_ids: The questions; all of them for None.
        databases: Only questions over these databases.
        difficulties: Only questions of these difficulties.
        sample: How many of the questions that remain are drawn; all of them for None.
        sample_seed: The seed of that draw.
        scale_factor: The scale factor of the suite's data; 0.01 for None, where it has any.
        out: The run directory; one below `runs/`, named after what is scored, for None.
        models: The `provider:name` whose prices each file's tokens are charged; one for all, or
            one for each.
        timeout_s: Seconds that one prediction may take.
        gold_timeout_s: Seconds that gold may take.
        max_rows: Rows of a result that are kept and judged.
        warmups: Untimed executions of gold and of each right prediction, before timed ones.
        repeats: Timed executions of these; with 0 there are no VES, R-VES, VES* and VCES.
        workers: Processes that execute queries at the same time; for None one for each core, and
            one alone where queries are timed.
        machine: What the engine's work is charged at; see `Experiment.machine`.
        billing: `busy` or `wall`.
        prices: YAML file of prices that override the bundled ones.

    Returns:
        The trials with their metrics; `report.html` and CSV files are in its directory.

    Raises:
        BothendsError: If something does not exist, does not fit, or cannot be read or written.
    """
    from bothends.eval.predictions import read_predictions
    from bothends.eval.scoring import score_experiment, score_predictions

    sets = [read_predictions(Path(each)) for each in predictions]
    experiment = score_experiment(
        sets,
        suite=suite,
        engine=engine,
        question_ids=names(question_ids),
        databases=names(databases),
        difficulties=names(difficulties),
        sample=sample,
        sample_seed=sample_seed,
        scale_factor=scale_factor,
        data=Path(data),
        priced_as=names(models) or (),
        timeout_s=timeout_s,
        gold_timeout_s=gold_timeout_s,
        max_rows=max_rows,
        regimen=Regimen(warmups=warmups, repeats=repeats),
        workers=workers,
        machine=machine,
        billing=billing,
        prices=Path(prices) if prices else None,
    )
    directory = Path(out) if out else default_directory(experiment)
    score_predictions(experiment, experiment.load_suite(), sets, directory)
    return load_run(directory)
