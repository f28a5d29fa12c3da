"""Forks: a changed experiment in a run directory of its own, with the trials that still hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from bothends.eval.experiment import Experiment
from bothends.eval.grounds import asked_of, data_changed
from bothends.eval.manifest import ForkOrigin, Manifest
from bothends.eval.record import Trial, TrialKey
from bothends.eval.store import RunDirectory
from bothends.eval.transcripts import untold
from bothends.infra.errors import UsageError

__all__ = ["find_fork", "holding", "start_fork"]

_NOT_MEASURED: Final = frozenset({"provider_error", "gold_failed"})
# What of an engine's fingerprint does not depend on the database it is opened over.
_OF_ENGINE: Final = ("engine", "version", "scale_factor", "settings")


def find_fork(
    experiment: Experiment, usual: Path, out: Path | None
) -> tuple[Path, tuple[Path, ...]]:
    """Return where a changed experiment goes on, and the runs that it may take trials from.

    It goes on where the run directory, or a fork of it, holds this very experiment; in a new fork
    beside them where none does. With `--out` a directory that holds nothing yet is the new one.

    Args:
        experiment: What is run.
        usual: The run directory that it would have without `--out`.
        out: What `--out` says.

    Raises:
        UsageError: If there is no run to fork.
        BothendsError: If the questions cannot be read.
    """
    base = out or usual
    if out is not None and not _is_run(out) and _is_run(usual):
        return out, tuple(_family(usual))
    family = tuple(_family(base))
    if not family:
        raise UsageError(f"there is no run in {base} that could be forked: leave --fork out")
    suite = experiment.load_suite()
    asked = asked_of(experiment, suite)
    for path in family:
        run = RunDirectory(path)
        if not run.differences(experiment, asked) and not data_changed(
            run.manifest, experiment, suite
        ):
            return path, ()
    number = 1
    while _is_run(_numbered(base, number)):
        number += 1
    return _numbered(base, number), family


def start_fork(
    directory: RunDirectory,
    manifest: Manifest,
    family: Sequence[Path],
    planned: Collection[TrialKey],
) -> None:
    """Write a new run directory that begins with the trials of another one that still hold.

    They come from the run that most of them hold of; the manifest says which it was. Nothing is
    done where the directory holds a run already.

    Args:
        directory: The new run directory.
        manifest: Its manifest.
        family: The runs that it may take trials from.
        planned: The trials that it is to have.

    Raises:
        RecordError: If a run cannot be read or written.
    """
    if not family or _is_run(directory.path):
        return
    sources = [RunDirectory(path) for path in family]
    # Of two that hold equally much, the later one.
    source, kept = max(
        ((each, holding(each, manifest, planned)) for each in reversed(sources)),
        key=lambda found: len(found[1]),
    )
    asked = {trial.key.question_id for trial in kept}
    told = manifest.experiment.transcripts
    directory.replace_transcripts(source, {trial.key for trial in kept} if told else ())
    directory.write(
        manifest.model_copy(
            update={"forked_from": ForkOrigin(run=source.path.name, trials=len(kept))}
        ),
        [
            gold.model_copy(
                update={"fingerprint": manifest.fingerprint} | ({} if told else {"first_rows": ()})
            )
            for gold in source.golds()
            if gold.question_id in asked
        ],
        kept if told else map(untold, kept),
    )


def holding(
    source: RunDirectory, manifest: Manifest, planned: Collection[TrialKey]
) -> tuple[Trial, ...]:
    """Return the trials of a run that another run would have measured in the same way.

    A trial holds where everything that bears on it is equal: each field of the experiment but
    those that say which trials there are (`Experiment.SELECTION`) or how the run is carried out
    (`Experiment.CONDUCT`); the engine, its data and its fingerprint; the hardware and the versions
    of the packages; the question with its gold; the model, what it is and what it costs; the price
    of the engine's machine. What a provider's fault or a failed gold kept from being measured is
    tried again.

    Args:
        source: The run.
        manifest: The other run's.
        planned: The trials that the other run is to have.
    """
    before = source.manifest
    if any(of(before) != of(manifest) for of in _BEARING) or not _same_prices(before, manifest):
        return ()
    questions = {each.id: each for each in before.questions}
    asked = {
        each.id
        for each in manifest.questions
        if questions.get(each.id) == each and _same_ground(before, manifest, each.database)
    }
    known = {each.spec: each for each in before.models}
    models = {each.spec for each in manifest.models if known.get(each.spec) == each}
    return tuple(
        trial.model_copy(update={"fingerprint": manifest.fingerprint})
        for trial in source.trials()
        if trial.key in planned
        and trial.key.question_id in asked
        and trial.key.model in models
        and trial.bothends_version == manifest.versions.get("bothends")
        and trial.status not in _NOT_MEASURED
    )


def _bearing_fields(manifest: Manifest) -> object:
    measured = manifest.experiment.measured()
    return {name: measured[name] for name in measured if name not in Experiment.SELECTION}


_BEARING: Final[tuple[Callable[[Manifest], object], ...]] = (
    _bearing_fields,
    lambda manifest: manifest.hardware,
    lambda manifest: manifest.versions,
    lambda manifest: manifest.machine,
)


def _same_ground(one: Manifest, other: Manifest, database: str) -> bool:
    """Whether a database, and the engine over it, are the same for both.

    The fingerprint of a run over several databases is of all of them: where another choice of
    questions brings others in, each is compared by its own digest.
    """
    if one.fingerprint == other.fingerprint:
        return True
    engines = [[run.engine.get(name) for name in _OF_ENGINE] for run in (one, other)]
    digests = [run.databases.get(database) for run in (one, other)]
    return engines[0] == engines[1] and digests[0] == digests[1] and digests[0] is not None


def _same_prices(one: Manifest, other: Manifest) -> bool:
    """Whether what both runs have a price of costs the same in both."""
    return all(
        one.prices.get(kind, {}).get(name, price) == price
        for kind in ("models", "machines")
        for name, price in other.prices.get(kind, {}).items()
    )


def _family(base: Path) -> Iterator[Path]:
    """Yield a run directory and its forks, as far as there are any."""
    if _is_run(base):
        yield base
    number = 1
    while _is_run(fork := _numbered(base, number)):
        yield fork
        number += 1


def _numbered(base: Path, number: int) -> Path:
    return base.with_name(f"{base.name}-fork{number}")


def _is_run(path: Path) -> bool:
    return (path / "manifest.json").exists()
