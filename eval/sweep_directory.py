"""A sweep on disk: `sweep.json`, and a run directory for each scale factor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.eval.record import Trial, TrialKey
from bothends.eval.store import RunDirectory
from bothends.infra.appending import write_whole
from bothends.infra.errors import RecordError

__all__ = ["SweepDirectory", "SweepTerms", "unscaled"]

_TERMS = "sweep.json"


class SweepTerms(BaseModel):
    """What a sweep is, beside what its runs say of themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sweep_version: Literal[1] = Field(1, description="The version of this file's shape.")
    translated_at: float = Field(description="The scale factor at which the agent works.")
    scale_factors: tuple[float, ...] = Field(
        description="Where the queries are executed, ascending."
    )
    skip_after_timeout: bool = Field(
        description="Whether a query that passed its time limit is skipped at larger ones."
    )


class SweepDirectory:
    """A directory with `sweep.json` and one run directory for each scale factor, as in `sf0.1`.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_there(self) -> bool:
        """Whether the directory holds a sweep."""
        return (self.path / _TERMS).exists()

    @property
    def terms(self) -> SweepTerms:
        """What the sweep is.

        Raises:
            RecordError: If the directory holds none, or one that cannot be read.
        """
        file = self.path / _TERMS
        try:
            return SweepTerms.model_validate_json(file.read_text())
        except FileNotFoundError:
            raise RecordError(
                f"{self.path} is not the directory of a sweep: it holds no {_TERMS}"
            ) from None
        except (OSError, ValidationError, ValueError) as error:
            raise RecordError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None

    def start(self, terms: SweepTerms) -> None:
        """Begin the sweep, or go on with it, perhaps with other scale factors beside those of it.

        Raises:
            RecordError: If the directory holds another sweep or a run, or cannot be written.
        """
        if (self.path / "manifest.json").exists():
            raise RecordError(f"{self.path} holds a run, and no sweep: give another with --out")
        if self.is_there:
            terms = self._joined(terms)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.path / _TERMS, terms.model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror}") from None

    def at(self, scale_factor: float) -> RunDirectory:
        """Return the run directory of a scale factor, whether it is there or not."""
        return RunDirectory(self.path / f"sf{scale_factor:g}")

    def runs(self) -> Mapping[float, RunDirectory]:
        """Return the run directories that are there, by their scale factors, ascending.

        Raises:
            RecordError: If the directory holds no sweep.
        """
        found = {scale: self.at(scale) for scale in self.terms.scale_factors}
        return {scale: run for scale, run in found.items() if (run.path / "manifest.json").exists()}

    def trials(self, *, but: float | None = None) -> tuple[Trial, ...]:
        """Return all trials, by ascending scale factors.

        Args:
            but: A scale factor whose trials are left out.
        """
        return tuple(
            trial for scale, run in self.runs().items() if scale != but for trial in run.trials()
        )

    def timeouts(self, below: float) -> dict[TrialKey, Trial]:
        """Return what passed its time limit at a smaller scale factor and so is to be skipped.

        Args:
            below: The scale factor.

        Returns:
            For each such trial, by its key without a scale factor, that at the smallest one where
            it passed the limit. Nothing where the sweep skips nothing.
        """
        found: dict[TrialKey, Trial] = {}
        if self.terms.skip_after_timeout:
            for trial in self.trials():
                scale = trial.key.scale_factor
                if trial.status == "timeout" and scale is not None and scale < below:
                    found.setdefault(unscaled(trial.key), trial)
        return found

    def _joined(self, terms: SweepTerms) -> SweepTerms:
        old = self.terms
        before, after = (self._fixed(each) for each in (old, terms))
        if before != after:
            changed = "; ".join(
                f"{name} was {before[name]} and is {after[name]}"
                for name in before
                if before[name] != after[name]
            )
            raise RecordError(
                f"{self.path} holds another sweep: {changed}. Give another directory with --out, "
                "or remove this one."
            )
        scale_factors = sorted({*old.scale_factors, *terms.scale_factors})
        return terms.model_copy(update={"scale_factors": tuple(scale_factors)})

    @staticmethod
    def _fixed(terms: SweepTerms) -> dict[str, Any]:
        return terms.model_dump(include={"translated_at", "skip_after_timeout"})


def unscaled(key: TrialKey) -> TrialKey:
    """Return what a trial has in common with those of the same translation at other scales."""
    return key.model_copy(update={"scale_factor": None})
