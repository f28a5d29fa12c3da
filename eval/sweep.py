"""A sweep: each question translated once, its query and gold executed at every scale factor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bothends.engines.registry import without_password
from bothends.eval.budget import Forecast
from bothends.eval.experiment import Experiment
from bothends.eval.job_site import JobSite
from bothends.eval.manifest import Manifest
from bothends.eval.preparation import load_models
from bothends.eval.record import Trial
from bothends.eval.runner import run_experiment
from bothends.eval.suites.registry import is_scaled
from bothends.eval.sweep_directory import SweepDirectory, SweepTerms
from bothends.eval.sweep_plan import NAMED_BY_SCALE, ScalePlan
from bothends.eval.sweep_remote import JobWork, check_remote
from bothends.eval.sweep_scale import ScaleWork
from bothends.eval.watcher import Silent, Watcher
from bothends.infra.errors import UsageError
from bothends.infra.prices import PriceBook

__all__ = ["at_scale", "check_scale_factors", "run_sweep"]

_LARGEST: Final = 1e6


def run_sweep(
    experiment: Experiment,
    scale_factors: Sequence[float],
    out: Path,
    *,
    skip_after_timeout: bool = False,
    record: Path | None = None,
    record_append: bool = False,
    served_by: str = "",
    watcher: Watcher | None = None,
    site: JobSite | None = None,
) -> SweepDirectory:
    """Run what of a sweep has not been run yet.

    The agent translates each question at the experiment's scale factor, once; that is an ordinary
    run. Its queries and the gold are then executed, judged and timed at each other scale factor,
    in their order, under the same regimen. Scale factors, questions, models and replicas may be
    added later: only what is missing is run.

    Args:
        experiment: What is run; its scale factor is the one at which the agent works.
        scale_factors: At which the queries are executed; the experiment's own is one of them in
            any case.
        out: The sweep's directory; made where it does not exist.
        skip_after_timeout: Whether a query that passed its time limit is not tried at larger scale
            factors.
        record: Where the models' replies are recorded, as in `run_experiment`.
        record_append: Whether that may be another run's recording.
        served_by: What serves the model, in words, for the recording.
        watcher: Who is told how it goes.
        site: Where the work at the other scale factors is done, by a job; None for here. The
            translation's own scale factor is always done here.

    Returns:
        The sweep's directory, complete unless the budget did not allow it; the watcher is told.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached. What was
            recorded before is kept.
    """
    home = experiment.scale_factor
    if home is None or not is_scaled(experiment.suite):
        raise UsageError(
            f"suite {experiment.suite!r} has no scale factors to sweep over: take `bothends run`"
        )
    scales = tuple(sorted({home, *scale_factors}))
    _check_scales(experiment, scales)
    if site is not None:
        check_remote(experiment, site)
    # What does not fit is said before anything is written.
    experiment.select(experiment.load_suite())
    load_models(experiment, PriceBook.load(experiment.prices))
    sweep = SweepDirectory(out)
    sweep.start(
        SweepTerms(translated_at=home, scale_factors=scales, skip_after_timeout=skip_after_timeout)
    )
    relay = _Relay(watcher or Silent())
    translations = run_experiment(
        at_scale(experiment, home),
        sweep.at(home).path,
        record=record,
        record_append=record_append,
        served_by=served_by,
        watcher=relay,
        grow=True,
        elsewhere=sweep.trials(but=home),
    )
    written = translations.trials()
    for scale_factor in scales:
        if relay.ended:
            break
        if scale_factor != home:
            there = at_scale(experiment, scale_factor)
            plan = ScalePlan(there, sweep, written)
            (JobWork(plan, site, relay) if site else ScaleWork(plan, relay)).do()
    return sweep


def at_scale(experiment: Experiment, scale_factor: float) -> Experiment:
    """Return an experiment at a scale factor, which its engine's address may name as `{sf}`."""
    return experiment.model_copy(
        update={
            "scale_factor": scale_factor,
            "engine": experiment.engine.replace("{sf}", f"{scale_factor:g}"),
        }
    )


def check_scale_factors(scales: Sequence[float]) -> None:
    """Refuse what is no scale factor.

    Raises:
        UsageError: If one is not a positive number, or is out of all reason.
    """
    if not all(0 < scale <= _LARGEST for scale in scales):
        raise UsageError(
            "scale factors must be positive numbers up to a million, such as 0.01,0.1,1"
        )


def _check_scales(experiment: Experiment, scales: Sequence[float]) -> None:
    """Refuse what cannot be swept over, before anything is paid for."""
    check_scale_factors(scales)
    scheme, addressed, _ = experiment.engine.partition("://")
    # Spark reads the files of each scale factor, unless its catalog holds the tables.
    own = addressed and scheme not in {"spark", "sc"}
    if own and "{sf}" not in experiment.engine and len(scales) > 1:
        raise UsageError(
            f"{without_password(experiment.engine)} is one database, and a sweep needs one for "
            f"each scale factor: {NAMED_BY_SCALE}, or leave it out"
        )


class _Relay:
    """Passes on what a watcher is to hear, and notes whether the run is to end early.

    Args:
        watcher: The watcher.

    Attributes:
        ended: Whether it is.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.ended = False

    def phase(self, text: str) -> None:
        """Tell the watcher."""
        self._watcher.phase(text)

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        """Tell the watcher."""
        self._watcher.begin(manifest, done, total)

    def go_on(self, forecast: Forecast) -> bool:
        """Ask the watcher."""
        go_on = self._watcher.go_on(forecast)
        self.ended |= not go_on
        return go_on

    def trial(self, trial: Trial) -> None:
        """Tell the watcher."""
        self._watcher.trial(trial)

    def stopped(self, why: str) -> None:
        """Tell the watcher."""
        self.ended = True
        self._watcher.stopped(why)
