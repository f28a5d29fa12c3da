"""What a valid answer will cost on more data: CVQ from the forecasts of a model's queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bothends.eval.forecast import Forecast
from bothends.infra.prices import EnginePrice, Machine

__all__ = ["CvqForecast", "Translated", "forecast_cvq"]


@dataclass(frozen=True, slots=True)
class Translated:
    """What a model made of one question, once, at one scale factor.

    Attributes:
        forecast: Of the query that it wrote; None where it wrote none that executes.
        p: The share of its answers that are valid, at the largest scale factor that was measured:
            1 or 0 for one answer. It is taken to be the same beyond.
        llm_usd: What it cost apart from executing that query, which is the same at every scale
            factor: the LLM, and under `billing: wall` the cluster that waits for it. None where
            that is not known.
    """

    forecast: Forecast | None
    p: float
    llm_usd: float | None

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError(f"p is a share, from 0 to 1, and not {self.p}")


@dataclass(frozen=True, slots=True)
class CvqForecast:
    """What a model's valid answers will cost at a scale factor.

    Attributes:
        p: The share of its answers that are valid and in time; None where that is not known.
        llm_usd: Mean dollars of an attempt apart from executing its query; None likewise.
        engine_usd: Mean dollars of executing it; None likewise.
        cvq_usd: Dollars for a valid answer; None likewise, and at p = 0.
        low_usd: The lower end of its interval; None where there is none.
        high_usd: The upper end; None too where no answer would be in time at that end.
        timeouts: Names of the queries that would pass the time limit.
        reason: Why one of them is None, in words; None where none is.
    """

    p: float | None
    llm_usd: float | None
    engine_usd: float | None
    cvq_usd: float | None
    low_usd: float | None
    high_usd: float | None
    timeouts: tuple[str, ...]
    reason: str | None


def forecast_cvq(
    translated: Sequence[Translated], price: EnginePrice, *, timeout_s: float
) -> CvqForecast:
    """Predict a model's CVQ = mean(C_e2e) / p at the scale factor of its forecasts.

    An attempt costs llm_usd and its query, which is priced by its seconds or by the bytes that it
    scans. A query that would pass the time limit would be stopped: it would cost the seconds up
    to the limit, or its whole scan, and its answer would not be valid.

    The interval is CVQ with each query at the lower end of its own interval, and with each at the
    upper: CVQ never falls as queries get slower. So it assumes that all of them err the same way
    and as far, as they do where the cluster and not the query is what differs from the model. It
    has the coverage of the queries' intervals then; where errors are independent they cancel out,
    and it is wider than need be. It does not hold what is uncertain about p, since that is the
    same at every scale, nor the bytes.

    Args:
        translated: Each answer of the model; forecasts at one scale factor.
        price: What the engine costs.
        timeout_s: The time limit of a query, in seconds.

    Raises:
        ValueError: If there is no answer, or forecasts are of several scale factors.
    """
    forecasts = [each.forecast for each in translated if each.forecast is not None]
    if not translated or len({each.scale_factor for each in forecasts}) > 1:
        raise ValueError("a forecast of CVQ needs answers, at one scale factor")
    llm_usd = _mean([each.llm_usd for each in translated])
    p, engine_usd = _at(translated, price, timeout_s, lambda made: made.seconds)
    low = _at(translated, price, timeout_s, lambda made: made.low_s)
    # A query that is stopped at its lower end is stopped at the upper one, wherever that is.
    high = _at(
        translated,
        price,
        timeout_s,
        lambda made: made.low_s if made.low_s and made.low_s >= timeout_s else made.high_s,
    )
    cvq_usd = _cvq(llm_usd, engine_usd, p)
    low_usd, high_usd = _cvq(llm_usd, low[1], low[0]), _cvq(llm_usd, high[1], high[0])
    reason: str | None = None
    if llm_usd is None:
        reason = "what the LLM costs is not known"
    elif p is None:
        reason = next(each.reason for each in forecasts if each.seconds is None)
    elif engine_usd is None:
        reason = "the engine did not tell what it read"
    elif not p:
        reason = "no answer would be valid and in time"
    elif high_usd is None:
        reason = "no answer would be in time at the upper end"
        if high[0] is None:
            reason = next(each.reason for each in forecasts if each.high_s is None)
    return CvqForecast(
        p=p,
        llm_usd=llm_usd,
        engine_usd=engine_usd,
        cvq_usd=cvq_usd,
        low_usd=low_usd,
        high_usd=high_usd,
        timeouts=tuple(
            made.id for made in forecasts if made.seconds is not None and made.seconds >= timeout_s
        ),
        reason=reason,
    )


def _at(
    translated: Sequence[Translated],
    price: EnginePrice,
    timeout_s: float,
    seconds_of: Callable[[Forecast], float | None],
) -> tuple[float | None, float | None]:
    """Return the share that is valid in time and the engine's mean dollars; None where unknown."""
    shares: list[float | None] = []
    usd: list[float | None] = []
    for each in translated:
        if each.forecast is None:
            shares.append(each.p)
            usd.append(0.0)
            continue
        seconds = seconds_of(each.forecast)
        if seconds is None:
            return None, None
        shares.append(each.p if seconds < timeout_s else 0.0)
        usd.append(_query_usd(price, min(seconds, timeout_s), each.forecast.read_bytes))
    return _mean(shares), _mean(usd)


def _query_usd(price: EnginePrice, seconds: float, read_bytes: float | None) -> float | None:
    if isinstance(price, Machine):
        return price.usd_per_s * seconds
    return price.query_usd(None if read_bytes is None else math.ceil(read_bytes))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _cvq(llm_usd: float | None, engine_usd: float | None, p: float | None) -> float | None:
    return None if llm_usd is None or engine_usd is None or not p else (llm_usd + engine_usd) / p
