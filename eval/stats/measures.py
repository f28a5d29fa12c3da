"""The measures that intervals are made for: each a ratio of two sums over trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bothends.eval.metrics import VALUES
from bothends.eval.record import Trial

__all__ = ["MEASURES", "RATES", "Measure"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric as `sum(numerator) / sum(denominator)` over counted trials.

    A mean is such a ratio, whose denominator is 1 for each trial; CVQ is the dollars over the
    valid answers. So one way of resampling serves all.

    Attributes:
        name: Its name, as in `bothends.eval.metrics`.
        heading: Its name as it is read.
        unit: Its unit, or an empty string.
        numerator: What a trial adds above; None where that is unknown.
        denominator: What it adds below.
        rate: Whether it is a share of trials, each of which counts 0 or 1.
    """

    name: str
    heading: str
    unit: str
    numerator: Callable[[Trial], float | None]
    denominator: Callable[[Trial], float]
    rate: bool = False

    def parts(self, trials: Sequence[Trial]) -> tuple[float, float] | None:
        """Return both sums over trials; None where one of them is unknown."""
        above = 0.0
        for trial in trials:
            value = self.numerator(trial)
            if value is None:
                return None
            above += value
        return above, sum(map(self.denominator, trials))

    def value(self, trials: Sequence[Trial]) -> float | None:
        """Return the metric over counted trials; None where it is undefined or unknown."""
        parts = self.parts(trials)
        return parts[0] / parts[1] if parts is not None and parts[1] else None


def _one(_: Trial) -> float:
    return 1.0


def _valid(trial: Trial) -> float:
    return VALUES["ex"](trial) or 0.0


_MEANS: Final = (
    ("ex", "EX", ""),
    ("ex_exact", "EX exact", ""),
    ("ex_ordered", "EX ordered", ""),
    ("ex_set", "EX set", ""),
    ("em", "EM", ""),
    ("soft_f1", "Soft-F1", ""),
    ("r_ves", "R-VES", ""),
    ("ves", "VES", ""),
    ("ves_star", "VES*", ""),
    ("vces", "VCES", "per $"),
    ("cost_usd", "Attempt", "$"),
    ("e2e_s", "End to end", "s"),
)

RATES: Final = frozenset({"ex", "ex_exact", "ex_ordered", "ex_set", "em"})
"""The measures that are shares of trials."""

MEASURES: Final[dict[str, Measure]] = {
    **{
        name: Measure(name, heading, unit, VALUES[name], _one, rate=name in RATES)
        for name, heading, unit in _MEANS
    },
    "cvq": Measure("cvq", "CVQ", "$", VALUES["cost_usd"], _valid),
}
"""Every measure, by its name."""
