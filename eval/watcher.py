"""Who is told how a run goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bothends.eval.budget import Forecast
from bothends.eval.manifest import Manifest
from bothends.eval.record import Trial

__all__ = ["Silent", "Watcher"]


class Watcher(Protocol):
    """Somebody who is told how a run goes, such as a progress bar."""

    def phase(self, text: str) -> None:
        """Hear what the run is about to do, in a few words."""

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        """Hear what is run, which trials were there already, and how many there will be."""

    def go_on(self, forecast: Forecast) -> bool:
        """Say whether the trials that are left are to be run, at what they will cost."""

    def trial(self, trial: Trial) -> None:
        """Hear of a trial that was just recorded."""

    def stopped(self, why: str) -> None:
        """Hear that the run ends before all trials are run."""


class Silent:
    """A watcher that says nothing."""

    def phase(self, text: str) -> None:
        """Ignore it."""

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        """Ignore it."""

    def go_on(self, forecast: Forecast) -> bool:  # noqa: ARG002 - a Watcher's
        """Go on."""
        return True

    def trial(self, trial: Trial) -> None:
        """Ignore it."""

    def stopped(self, why: str) -> None:
        """Ignore it."""
