"""Starts an experiment as a whole: where it runs, what it goes on from, what it gives back."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bothends.eval.experiment import Experiment
from bothends.infra.errors import UsageError
from bothends.results import Run, load_run

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.tools.text import Redaction

__all__ = ["default_directory", "place", "refuse_settings", "run_whole", "sweep_directory"]

_BESIDE_EXPERIMENT: Final = frozenset(
    {"experiment", "out", "record", "record_append", "callbacks", "fork", "redact"}
)


def default_directory(experiment: Experiment, file: Path | str | None = None) -> Path:
    """Return a directory below `runs/` that the same experiment always gets.

    Args:
        experiment: The experiment.
        file: The file that it was read from. The directory has its name, whatever it holds, so
            that a change in it is noticed and not silently measured all anew.
    """
    if file is not None:
        return Path("runs") / Path(file).stem
    # By what differs from the default, so that a new field changes no name.
    measured = experiment.model_dump_json(exclude=set(experiment.CONDUCT), exclude_defaults=True)
    digest = hashlib.sha256(measured.encode()).hexdigest()[:6]
    engine = experiment.engine.partition("://")[0]
    scale = "" if experiment.scale_factor is None else f"-sf{experiment.scale_factor:g}"
    return Path("runs") / f"{Path(experiment.suite).stem}-{engine}{scale}-{digest}"


def sweep_directory(experiment: Experiment, file: Path | str | None = None) -> Path:
    """Return the directory of a sweep: the same whatever trials and scale factors are added to it.

    Args:
        experiment: The experiment, at the scale factor at which the agent works.
        file: The file that it was read from.
    """
    if file is not None:
        return Path("runs") / f"{Path(file).stem}-sweep"
    apart = set(experiment.SELECTION) - {"models"}  # which are required
    kept = experiment.model_copy(update={"models": ("any",)})
    usual = default_directory(
        kept.model_copy(update={name: type(kept).model_fields[name].default for name in apart})
    )
    return usual.with_name(f"sweep-{usual.name}")


def place(
    experiment: Experiment, file: Path | str | None, out: Path | None, *, fork: bool
) -> tuple[Path, tuple[Path, ...]]:
    """Return the run directory of an experiment, and the runs that it may take trials from.

    Args:
        experiment: The experiment.
        file: The file that it was read from, if it was.
        out: The directory that was asked for; the default one for None.
        fork: Whether a changed experiment goes on in a fork of its run.

    Raises:
        BothendsError: If there is no run to fork, or it cannot be read.
    """
    usual = default_directory(experiment, file)
    if not fork:
        return out or usual, ()
    from bothends.eval.fork import find_fork

    return find_fork(experiment, usual, out)


def run_whole(
    experiment: Experiment | Path | str,
    out: Path | str | None,
    recording: Mapping[str, Any],
    redact: Redaction | str | None,
    *,
    callbacks: Sequence[BaseCallbackHandler],
    fork: bool,
) -> Run:
    """Run an experiment, or the rest of it, and report.

    Args:
        experiment: The experiment, or its file.
        out: The run directory; for None the default one.
        recording: Where the models' replies are recorded, as the arguments of `run_experiment`.
        redact: What result cells go through, or its name.
        callbacks: LangChain callback handlers that see every call.
        fork: Whether a changed experiment goes on in a fork of its run.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached.
    """
    from bothends.eval.experiment_file import read_experiment
    from bothends.eval.redaction import name_of
    from bothends.eval.runner import run_experiment

    file = None if isinstance(experiment, Experiment) else experiment
    resolved = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    if redact is not None:
        name = redact if isinstance(redact, str) else name_of(redact)
        resolved = resolved.model_copy(update={"redact": name})
    directory, family = place(resolved, file, Path(out) if out else None, fork=fork)
    run_experiment(
        resolved,
        directory,
        **recording,
        callbacks=callbacks,
        fork_from=family,
        redaction=None if isinstance(redact, str) else redact,
    )
    return load_run(directory)


def refuse_settings(values: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse arguments beside an experiment that are not their defaults.

    Args:
        values: The arguments.
        function: Whose they are.

    Raises:
        UsageError: If there are some.
    """
    parameters = inspect.signature(function).parameters
    beside = [
        name
        for name, value in values.items()
        if name not in _BESIDE_EXPERIMENT and value != parameters[name].default
    ]
    if beside:
        raise UsageError(
            f"an experiment says itself what is run: leave {', '.join(beside)} out, or change it "
            "in the file, or with model_copy"
        )
