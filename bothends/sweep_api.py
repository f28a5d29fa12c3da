"""`bothends.sweep`, of the Python API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bothends.eval.experiment import Experiment
from bothends.launch import sweep_directory
from bothends.results import Sweep, load_sweep

__all__ = ["sweep"]


def sweep(
    experiment: Experiment | Path | str,
    scale_factors: Sequence[float],
    *,
    translate_at: float | None = None,
    skip_after_timeout: bool = False,
    out: Path | str | None = None,
) -> Sweep:
    """Translate each question once, and execute query and gold at every scale factor.

    Where it was stopped, the same call goes on; with more scale factors, models, questions or
    replicas it runs what is new of them.

    Args:
        experiment: What is run: an experiment, or the path of its YAML file.
        scale_factors: At which the queries are executed.
        translate_at: At which the agent works; the smallest of these for None.
        skip_after_timeout: Whether a query that passed its time limit is not tried at larger scale
            factors.
        out: The sweep's directory; one below `runs/` for None.

    Returns:
        The runs at each scale factor.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached. What was
            measured before is kept, and the same call goes on from there.
    """
    from bothends.eval.experiment_file import read_experiment
    from bothends.eval.sweep import run_sweep
    from bothends.infra.errors import UsageError

    if not scale_factors and translate_at is None:
        raise UsageError("a sweep needs scale factors, such as [0.01, 0.1, 1]")
    file = None if isinstance(experiment, Experiment) else experiment
    resolved = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    home = translate_at if translate_at is not None else min(scale_factors)
    resolved = resolved.model_copy(update={"scale_factor": home})
    directory = Path(out) if out else sweep_directory(resolved, file)
    run_sweep(resolved, scale_factors, directory, skip_after_timeout=skip_after_timeout)
    return load_sweep(directory)
