"""`bothends score`: predictions made elsewhere, or a run's stored SQL, judged without an agent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bothends.options import (
    Billing,
    BillingOption,
    Database,
    Difficulty,
    Machine,
    MaxRows,
    Prices,
    Question,
    Sample,
    SampleSeed,
    ScaleFactor,
    listed,
    validated,
)

if TYPE_CHECKING:
    from rich.progress import Progress

    from bothends.eval.experiment import Experiment

__all__ = ["score"]


def score(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[RUNDIR]", help="A run whose stored SQL is judged once more."),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="bird, spider, tpch, or a .yaml or .jsonl file of questions.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Directory that holds the data.")] = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            help="BIRD's .json, a .jsonl with question_id and sql, or a directory of <id>.sql "
            "files; repeatable."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(help="Engine that executes them.")] = "sqlite",
    question: Question = None,
    database: Database = None,
    difficulty: Difficulty = None,
    sample: Sample = None,
    sample_seed: SampleSeed = 0,
    scale_factor: ScaleFactor = None,
    out: Annotated[
        Path | None, typer.Option(help="Run directory. Default: runs/, named by what is scored.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="provider:name whose prices the tokens are charged; once for all files, or once "
            "for each."
        ),
    ] = None,
    prices: Prices = None,
    timeout: Annotated[float, typer.Option(help="Seconds that one prediction may take.")] = 30.0,
    gold_timeout: Annotated[float, typer.Option(help="Seconds that gold may take.")] = 300.0,
    max_rows: MaxRows = 100_000,
    warmups: Annotated[
        int, typer.Option(min=0, help="With --repeats: untimed executions before them.")
    ] = 1,
    repeats: Annotated[
        int,
        typer.Option(
            min=0, help="Timed executions of gold and right predictions, for VES and R-VES."
        ),
    ] = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes. Default: one a core; one alone with --repeats."),
    ] = None,
    machine: Machine = "m7i.large",
    billing: BillingOption = Billing.busy,
) -> None:
    """Judge predictions made elsewhere, or a run's stored SQL, without an agent."""
    from bothends.eval.experiment import Regimen
    from bothends.infra.errors import UsageError

    settings: dict[str, Any] = {
        "timeout_s": timeout,
        "gold_timeout_s": gold_timeout,
        "max_rows": max_rows,
        "regimen": Regimen(warmups=warmups, repeats=repeats),
    }
    if directory is not None:
        if suite or predictions or question or database or difficulty or sample:
            raise UsageError(
                f"{directory} says itself what was asked: leave --suite, --predictions and the "
                "choice of questions out"
            )
        _again(directory, out, data, workers, settings)
        return
    given = {"--suite": suite, "--data": data, "--predictions": predictions}
    missing = [option for option, value in given.items() if not value]
    if suite is None or data is None or not predictions:
        raise UsageError(f"{', '.join(missing)} missing: give all three, or a run directory")
    settings |= {
        "suite": suite,
        "engine": engine,
        "question_ids": listed("question", question),
        "databases": listed("database", database),
        "difficulties": listed("difficulty", difficulty),
        "sample": sample,
        "sample_seed": sample_seed,
        "scale_factor": scale_factor,
        "data": data,
        "priced_as": tuple(model or ()),
        "machine": machine,
        "billing": billing.value,
        "prices": prices,
    }
    _score(predictions, out, workers, settings)


def _score(
    files: Sequence[Path], out: Path | None, workers: int | None, settings: dict[str, Any]
) -> None:
    from bothends.api import default_directory
    from bothends.eval.predictions import read_predictions
    from bothends.eval.scoring import score_experiment, score_predictions

    sets = [read_predictions(file) for file in files]
    experiment: Experiment = validated(lambda: score_experiment(sets, workers=workers, **settings))
    directory = out or default_directory(experiment)
    with _Bar() as bar:
        score_predictions(
            experiment,
            experiment.load_suite(),
            sets,
            directory,
            listener=bar,
            meanwhile=_import_reports,
        )
    _show(directory)


def _again(
    directory: Path,
    out: Path | None,
    data: Path | None,
    workers: int | None,
    settings: dict[str, Any],
) -> None:
    from bothends.engines.registry import engine_name
    from bothends.eval.scoring.score import rescore
    from bothends.eval.store import RunDirectory
    from bothends.infra.system import usable_cores

    source = RunDirectory(directory)
    before = source.manifest.experiment
    timed = bool(settings["regimen"].repeats)
    alone = timed or engine_name(before.engine) != "sqlite"
    fields = before.model_dump() | settings
    fields["workers"] = workers or (1 if alone else usable_cores())
    if not timed:  # what was measured stays, and so does how
        fields["regimen"] = before.regimen
    if data is not None:
        fields["data"] = data
    experiment: Experiment = validated(lambda: type(before).model_validate(fields))
    target = out or directory.with_name(f"{directory.resolve().name}-rescored")
    with _Bar() as bar:
        rescore(source, experiment, target, timed=timed, listener=bar)
    _show(target)


def _show(directory: Path) -> None:
    from bothends.eval.metrics import counted
    from bothends.show import show

    if not counted(show([directory], directory).trials):
        typer.echo("bothends: nothing was scored; the outcomes above say why", err=True)
        raise typer.Exit(1)


def _import_reports() -> None:
    """Import what the reports need, while other processes execute queries."""
    import bothends.show  # noqa: F401


class _Bar:
    """A bar of the questions that are judged. A context manager, and a listener."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: Any = None

    def begin(self, notes: Sequence[str], total: int) -> None:
        """Say what is odd, and draw the bar where it can be seen."""
        from rich.console import Console
        from rich.text import Text

        console = Console(stderr=True)
        for note in notes:
            console.print(Text(f"! {note}"), soft_wrap=True)
        if not console.is_terminal:
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("scoring"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f} questions"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task("scoring", total=total)

    def done(self) -> None:
        """Move on by one question."""
        if self._progress is not None:
            self._progress.update(self._task, advance=1)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()
