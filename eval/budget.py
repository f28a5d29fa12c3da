"""A run's budget: what trials have cost, and whether another one may start."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bothends.eval.record import Trial, TrialKey

__all__ = ["Budget", "Forecast", "Spent", "kind_of", "paid_usd"]


@dataclass(frozen=True, slots=True)
class Spent:
    """Dollars (C_e2e: the model's and the engine's) and tokens (input and output)."""

    usd: float = 0.0
    tokens: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Add dollars to dollars and tokens to tokens."""
        return Spent(self.usd + other.usd, self.tokens + other.tokens)

    def times(self, factor: float) -> Spent:
        """Return so many times as much."""
        return Spent(self.usd * factor, self.tokens * factor)


def paid_usd(trial: Trial) -> float | None:
    """Return the dollars that were paid when a trial was run; None where they are not known."""
    if trial.status == "skipped":
        return 0.0
    return trial.cost.usd if trial.translated_at is None else trial.cost.engine_usd


def kind_of(key: TrialKey, *, carried: bool) -> str:
    """Return what trials that are expected to cost alike have in common.

    Args:
        key: The trial.
        carried: Whether its SQL was written at another scale factor.
    """
    return f"{key.model} at {key.scale_factor:g}" if carried else key.model


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is left to be run, and what it will cost by the mean of the trials that are recorded.

    Attributes:
        trials: How many trials are left.
        spent: What those that are recorded have cost.
        ahead: What the others will; None where a model has no trial yet.
    """

    trials: int
    spent: Spent
    ahead: Spent | None


class Budget:
    """Admits trials while what they will probably cost fits; several threads may ask.

    A trial is expected to cost the mean of the recorded trials of its kind, which is its model's.
    What the first one will cost nobody knows: it starts when no other trial is under way, and may
    pass the budget. None starts after one whose dollars are not known, where dollars are bounded.

    Of a trial whose SQL was written at another scale factor only the engine's work counts: what
    the model took is paid for, and counted, once. One that was skipped cost nothing.

    Args:
        usd: Dollars that all trials of the run may cost; None for no bound.
        tokens: Tokens that they may take; None for no bound.
        done: The trials that are recorded.
    """

    def __init__(self, usd: float | None, tokens: int | None, done: Iterable[Trial] = ()) -> None:
        self._most = usd, tokens
        self._changed = threading.Condition()
        self._recorded: dict[str, tuple[int, Spent]] = {}
        self._spent = Spent()
        self._unpriced = 0
        self._under_way: list[Spent] = []
        self._exhausted = False
        for trial in done:
            self._add(trial)

    @property
    def exhausted(self) -> bool:
        """Whether a trial was refused."""
        return self._exhausted

    def admit(self, kind: str) -> Spent | None:
        """Wait until it can be told whether a trial of a kind may start, and tell.

        Args:
            kind: The trial's model, or what `kind_of` returns.

        Returns:
            What it is expected to cost, to be given back to `settle`; None where it may not start.
            Once one may not, no other may.
        """
        with self._changed:
            while not self._exhausted:
                expected = self._mean(kind)
                if self._may_start(expected):
                    self._under_way.append(expected or Spent())
                    return self._under_way[-1]
                if not self._under_way:
                    self._exhausted = True
                    self._changed.notify_all()
                    break
                self._changed.wait()
            return None

    def settle(self, expected: Spent, trial: Trial | None) -> None:
        """Put what an admitted trial did cost in the place of what it was expected to.

        Args:
            expected: What `admit` returned for it.
            trial: The trial; None where it has no record.
        """
        with self._changed:
            self._under_way.remove(expected)
            if trial is not None:
                self._add(trial)
            self._changed.notify_all()

    def forecast(self, models: Sequence[str]) -> Forecast:
        """Return what trials will cost.

        Args:
            models: The model of each of the trials.
        """
        with self._changed:
            ahead: Spent | None = Spent()
            for model, trials in Counter(models).items():
                mean = self._mean(model)
                ahead = None if ahead is None or mean is None else ahead + mean.times(trials)
            return Forecast(len(models), self._spent, ahead)

    def why(self) -> str:
        """Say why no other trial was admitted."""
        usd, tokens = self._most
        over = (usd is not None and self._spent.usd > usd) or (
            tokens is not None and self._spent.tokens > tokens
        )
        # The mean told the cost of what ran last too low, or nothing was known of it yet.
        what = "the budget is spent" if over else "the next trial would pass the budget"
        return f"stopped: {what}: {self.describe()}"

    def describe(self) -> str:
        """Say what was spent of what may be."""
        usd, tokens = self._most
        parts = []
        if usd is not None:
            trials = "trial" if self._unpriced == 1 else "trials"
            unpriced = f" and {self._unpriced} {trials} of unknown cost" if self._unpriced else ""
            parts.append(f"${self._spent.usd:.4f}{unpriced} of ${usd:g}")
        if tokens is not None:
            parts.append(f"{self._spent.tokens:,.0f} of {tokens:,} tokens")
        return " and ".join(parts)

    def _may_start(self, expected: Spent | None) -> bool:
        usd, tokens = self._most
        if usd is None and tokens is None:
            return True
        if (expected is None and self._under_way) or (usd is not None and self._unpriced):
            return False
        after = sum(self._under_way, self._spent) + (expected or Spent())
        if expected is None:
            # Whatever it will cost, it costs something.
            return (usd is None or after.usd < usd) and (tokens is None or after.tokens < tokens)
        return (usd is None or after.usd <= usd) and (tokens is None or after.tokens <= tokens)

    def _mean(self, kind: str) -> Spent | None:
        trials, spent = self._recorded.get(kind, (0, Spent()))
        return spent.times(1 / trials) if trials else None

    def _add(self, trial: Trial) -> None:
        usd, usage = paid_usd(trial), trial.usage
        tokens = 0
        if usage is not None and trial.translated_at is None:
            tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        spent = Spent(usd or 0.0, tokens)
        self._unpriced += usd is None
        kind = kind_of(trial.key, carried=trial.translated_at is not None)
        trials, before = self._recorded.get(kind, (0, Spent()))
        self._recorded[kind] = trials + 1, before + spent
        self._spent += spent
