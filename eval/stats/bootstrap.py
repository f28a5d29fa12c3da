"""The bootstrap: resampled ratios of sums, and the interval that they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RESAMPLES", "SEED", "expanded_interval", "resampled_sums", "tail"]

RESAMPLES: Final = 10_000
SEED: Final = 0
_BATCH: Final = 1_000


def resampled_sums(
    values: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.float64]:
    """Draw as many units as there are, with replacement, again and again, and add them up.

    All columns of one draw are of the same units, so that ratios and differences are resampled
    jointly. The same seed gives the same draws.

    Args:
        values: A row a unit, a column a quantity.
        resamples: How often.
        seed: Of NumPy's PCG64.

    Returns:
        A row a draw, a column a quantity.
    """
    import numpy as np

    units = len(values)
    random = np.random.default_rng(seed)
    batches = []
    for start in range(0, resamples, _BATCH):
        size = min(_BATCH, resamples - start)
        drawn = random.integers(0, units, (size, units), dtype=np.int32)
        drawn += units * np.arange(size, dtype=np.int32)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        batches.append(times @ values)
    return np.concatenate(batches)


def tail(units: int, level: float) -> float:
    """Return the share of resamples to leave out at each end, for so many units.

    The percentile interval is too narrow for few units, as one that takes the normal distribution
    for Student's t and divides by n for n - 1. The expanded percentile interval makes up for both:
    the tail is Phi(-sqrt(n / (n - 1)) * t), with t the 1 - (1 - level) / 2 quantile of Student's
    distribution with n - 1 degrees of freedom. Hesterberg (2015), "What teachers should know about
    the bootstrap", The American Statistician 69(4).
    """
    from scipy import special

    t = special.stdtrit(units - 1, (1 + level) / 2)
    return float(special.ndtr(-((units / (units - 1)) ** 0.5) * t))


def expanded_interval(resampled: NDArray[Any], units: int, level: float) -> tuple[float, float]:
    """Return the expanded percentile interval of a statistic.

    A resample in which the statistic is undefined, NaN, counts as beyond both ends: it can only
    widen the interval. Infinite ends say that there is no bound.

    Args:
        resampled: The statistic of each resample.
        units: How many units were resampled.
        level: The nominal level, as 0.95.
    """
    import numpy as np

    share = tail(units, level)
    lows = np.where(np.isnan(resampled), -np.inf, resampled)
    highs = np.where(np.isnan(resampled), np.inf, resampled)
    low = np.quantile(lows, share, method="inverted_cdf")
    return float(low), float(np.quantile(highs, 1 - share, method="inverted_cdf"))
