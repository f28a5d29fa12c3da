"""The record store: one directory a run, append-only, safe to kill at any moment."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from bothends.eval.experiment import Experiment
from bothends.eval.manifest import Manifest, QuestionTerms, changes, edits, grown
from bothends.eval.members import append_member, drop_torn_member, read_members
from bothends.eval.record import Gold, Trial, TrialKey
from bothends.eval.transcripts import Transcript
from bothends.infra.appending import append_whole, drop_torn_line, write_whole
from bothends.infra.errors import RecordError
from bothends.infra.redact import Secrets

__all__ = ["RunDirectory"]

_TRANSCRIPTS: Final = "transcripts.jsonl.gz"
_LINES: Final = ("trials.jsonl", "gold.jsonl")
_RecordT = TypeVar("_RecordT", bound=BaseModel)


class _Keyed(BaseModel):
    """A transcript as far as it is read to know whose it is: most of it is not wanted."""

    key: TrialKey = Field(description="The trial.")


class RunDirectory:
    """A run on disk: `manifest.json`, `trials.jsonl`, `gold.jsonl` and `transcripts.jsonl.gz`.

    Several threads may append.

    Secrets of the environment, and the password of the engine's address, are taken out of all that
    is written.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._appending = threading.Lock()
        self._secrets = Secrets.of_environment()

    @property
    def manifest(self) -> Manifest:
        """The manifest.

        Raises:
            RecordError: If the directory holds none, or one that cannot be read.
        """
        file = self.path / "manifest.json"
        try:
            return Manifest.model_validate_json(file.read_text())
        except FileNotFoundError:
            runs = sorted(each.parent.name for each in self.path.glob("sf*/manifest.json"))
            hint = f". It is a sweep's: name one of its runs, {', '.join(runs)}" if runs else ""
            raise RecordError(
                f"{self.path} is not a run directory: it holds no manifest.json{hint}"
            ) from None
        except (OSError, ValidationError) as error:
            raise RecordError(f"{file} cannot be read: {_first_line(error)}") from None

    def holds(
        self,
        experiment: Experiment,
        questions: Sequence[QuestionTerms],
        keys: Collection[TrialKey],
        *,
        grow: bool = False,
    ) -> bool:
        """Return whether this experiment is in it, with all of its trials.

        Args:
            experiment: The experiment.
            questions: Its questions as they are now.
            keys: Its trials.
            grow: Whether there may be others beside them.

        Raises:
            RecordError: If it holds another run; the message says what differs.
        """
        if not (self.path / "manifest.json").exists():
            return False
        self.refuse(self.differences(experiment, questions, grow=grow), _task(experiment, grow))
        return {trial.key for trial in self.trials()}.issuperset(keys)

    def differences(
        self,
        experiment: Experiment,
        questions: Sequence[QuestionTerms],
        *,
        grow: bool = False,
    ) -> list[str]:
        """Return what differs between the run that is here and an experiment, a sentence each.

        Args:
            experiment: The experiment.
            questions: Its questions as they are now.
            grow: Whether it may have other trials.

        Raises:
            RecordError: If the directory holds no run, or one that cannot be read.
        """
        # Without secrets, as what is here was written.
        safe = Secrets.of_environment(experiment.engine).cleaned
        old = self.manifest
        return changes(old.experiment, experiment, grow=grow) or edits(
            old.questions, list(map(safe, questions)), grow=grow
        )

    def start(self, manifest: Manifest, *, grow: bool = False) -> None:
        """Write the manifest, or check that the one that is there is of the same run.

        Args:
            manifest: The run's.
            grow: Whether it may add questions, models or replicas to those that are there.

        Raises:
            RecordError: If the directory holds another run; the message says what differs.
        """
        self._secrets = Secrets.of_environment(manifest.experiment.engine)
        self._refuse_sweep()
        if (self.path / "manifest.json").exists():
            self.check(manifest, grow=grow)
            if grow:
                self._write_manifest(grown(self.manifest, manifest))
        else:
            for name in _LINES:
                if (self.path / name).exists():
                    raise RecordError(
                        f"{self.path} holds {name} of a run whose manifest.json is gone: put that "
                        "back, remove the directory, or give another with --out"
                    )
            self._write_manifest(manifest)
        for name in _LINES:
            drop_torn_line(self.path / name)
        drop_torn_member(self.path / _TRANSCRIPTS)

    def _refuse_sweep(self) -> None:
        if (self.path / "sweep.json").exists():
            raise RecordError(
                f"{self.path} holds a sweep, whose runs are in directories of their own: give "
                "another with --out"
            )

    def _write_manifest(self, manifest: Manifest) -> None:
        text = self._safe(manifest).model_dump_json(indent=2) + "\n"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.path / "manifest.json", text)
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror}") from None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from running trials into this directory.

        Raises:
            RecordError: If another one does.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("w")
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RecordError(
                    f"another process is running in {self.path}: wait for it, or give another "
                    "directory with --out"
                ) from None
            yield

    def check(self, manifest: Manifest, *, grow: bool = False) -> None:
        """Check that the directory holds no run, or this one.

        Args:
            manifest: The run's.
            grow: Whether it may have other trials.

        Raises:
            RecordError: If it holds another; the message says what differs.
        """
        if (self.path / "manifest.json").exists():
            changed = self.differences(manifest.experiment, manifest.questions, grow=grow)
            if self.manifest.fingerprint != manifest.fingerprint:
                changed.append("the engine, its version or its data are not the same")
            self.refuse(changed, _task(manifest.experiment, grow))

    def write(self, manifest: Manifest, golds: Iterable[Gold], trials: Iterable[Trial]) -> None:
        """Write a whole run at once, in place of what was there of it.

        Raises:
            RecordError: If it cannot be written, or a sweep is there.
        """
        self._secrets = Secrets.of_environment(manifest.experiment.engine)
        self._refuse_sweep()
        contents = {
            "gold.jsonl": "".join(self._safe(gold).model_dump_json() + "\n" for gold in golds),
            "trials.jsonl": "".join(self._safe(each).model_dump_json() + "\n" for each in trials),
            "manifest.json": self._safe(manifest).model_dump_json(indent=2) + "\n",
        }
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for name, content in contents.items():
                with (self.path / f"{name}.tmp").open("w", encoding="utf-8") as stream:
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
            for name in contents:
                (self.path / f"{name}.tmp").replace(self.path / name)
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror}") from None

    def append(self, record: _RecordT) -> _RecordT:
        """Append a trial or a gold result as one line and flush it to disk.

        Returns:
            The record as it was written: without secrets.

        Raises:
            RecordError: If it cannot be written.
        """
        file = self.path / ("trials.jsonl" if isinstance(record, Trial) else "gold.jsonl")
        record = self._safe(record)
        line = record.model_dump_json().encode() + b"\n"
        try:
            with self._appending:
                append_whole(file, line)
        except OSError as error:
            raise RecordError(
                f"{file} cannot be written: {error.strerror}; what was measured before is kept"
            ) from None
        return record

    def append_transcript(self, transcript: Transcript) -> None:
        """Append a trial's transcript, compressed, and flush it to disk.

        Raises:
            RecordError: If it cannot be written.
        """
        file = self.path / _TRANSCRIPTS
        line = self._safe(transcript).model_dump_json() + "\n"
        try:
            with self._appending:
                append_member(file, line.encode())
        except OSError as error:
            raise RecordError(f"{file} cannot be written: {error.strerror}") from None

    def replace_transcripts(self, source: RunDirectory, keys: Collection[TrialKey]) -> None:
        """Keep another run's transcripts of these trials, and no others.

        Raises:
            RecordError: If they cannot be read or written.
        """
        (self.path / _TRANSCRIPTS).unlink(missing_ok=True)
        for transcript in source.transcripts() if keys else ():
            if transcript.key in keys:
                self.append_transcript(transcript)

    def transcripts(self, of: Collection[TrialKey] | None = None) -> Iterator[Transcript]:
        """Yield the transcripts that are kept, in the order in which trials ended.

        A trial that was cut off after it was written down, and run again, has its last one only.

        Args:
            of: The trials whose transcripts are wanted; None for all.

        Raises:
            RecordError: If they cannot be read.
        """
        file = self.path / _TRANSCRIPTS
        keys = [_parsed(_Keyed, each, file).key for each in read_members(file)]
        last = {key: number for number, key in enumerate(keys)}
        for number, member in enumerate(read_members(file)):
            wanted = of is None or keys[number] in of
            if wanted and last[keys[number]] == number:
                yield _parsed(Transcript, member, file)

    def trials(self) -> tuple[Trial, ...]:
        """Return the trials in the order they were run. A torn last line is left out."""
        return tuple(_read(self.path / "trials.jsonl", Trial))

    def golds(self) -> tuple[Gold, ...]:
        """Return the gold results. A torn last line is left out."""
        return tuple(_read(self.path / "gold.jsonl", Gold))

    def _safe(self, record: _RecordT) -> _RecordT:
        # What a run is found again by stays: an experiment and a model's name admit no secret.
        kept = {"key", "experiment"} & type(record).model_fields.keys()
        return self._secrets.cleaned(record, *kept)

    def refuse(self, changed: Sequence[str], task: str) -> None:
        """Refuse what is another run than the directory's, if it is.

        Args:
            changed: What differs, a sentence each; empty where nothing does.
            task: What is done, `run`, `score` or `sweep`.

        Raises:
            RecordError: If something differs.
        """
        if not changed:
            return
        fork = (
            "Go on in a new one with --fork, which takes over the trials that still hold, give"
            if task == "run"
            else "Give"
        )
        raise RecordError(
            f"{self.path} holds another run: {'; '.join(changed)}. "
            f"{fork} another directory with --out, or remove this one."
        )


def _task(experiment: Experiment, grow: bool) -> str:
    return "sweep" if grow else experiment.task


def _parsed(kind: type[_RecordT], text: bytes, file: Path) -> _RecordT:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise RecordError(f"{file}: {_first_line(error)}") from None


def _read(file: Path, kind: type[_RecordT]) -> Iterator[_RecordT]:
    if not file.exists():
        return
    lines = file.read_bytes().split(b"\n")
    # What follows the last newline was being written when the process was killed.
    for number, line in enumerate(lines[:-1], start=1):
        try:
            yield kind.model_validate_json(line)
        except ValidationError as error:
            raise RecordError(f"{file}, line {number}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the record'}: {first['msg']}"
    return str(error).splitlines()[0]
