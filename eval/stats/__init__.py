"""Statistics that a reviewer accepts: intervals, repetitions, paired comparisons.

All are functions of trials. Where a suite has several databases, they are told which question is
of which: `{each.id: each.database for each in manifest.questions}`.

- `interval` and `intervals`: a configuration's figures with their 95% intervals.
- `over_replicas`: pass@k, pass^k, consistency.
- `compare_pairs`: all pairs of configurations, with tests, Holm's correction and a sentence each.
"""

from __future__ import annotations

from bothends.eval.stats.comparison import Comparison, Contender, compare_family, compare_pairs
from bothends.eval.stats.interval import Interval, difference_intervals, interval, intervals
from bothends.eval.stats.measures import MEASURES, RATES
from bothends.eval.stats.paired import Fourfold
from bothends.eval.stats.replicas import Repetition, over_replicas

__all__ = [
    "MEASURES",
    "RATES",
    "Comparison",
    "Contender",
    "Fourfold",
    "Interval",
    "Repetition",
    "compare_family",
    "compare_pairs",
    "difference_intervals",
    "interval",
    "intervals",
    "over_replicas",
]
