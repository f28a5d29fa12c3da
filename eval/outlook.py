"""A sweep's outlook: what the measured scale factors say of each other, and of larger ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from bothends.eval.carry import run_step
from bothends.eval.crossover import CostCurve, crossovers
from bothends.eval.forecast import Forecast, Query, forecast
from bothends.eval.forecast_cvq import CvqForecast, Translated, forecast_cvq
from bothends.eval.growth import Point
from bothends.eval.held_out import HeldOut, held_out
from bothends.eval.metrics import counted
from bothends.eval.record import Trial
from bothends.eval.summary import summarise
from bothends.infra.prices import EnginePrice, Machine

__all__ = ["Crossing", "Outlook"]

_DECADES = 3
_EXECUTED = frozenset({"ok", "unjudged"})


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where one model becomes the cheaper one for a valid answer, with more data.

    Attributes:
        cheaper: The name of the model that is cheaper from there on.
        dearer: The other's.
        scale_factor: Where.
        usd: What a valid answer costs there, with both.
        forecast: Whether it lies beyond what was measured.
    """

    cheaper: str
    dearer: str
    scale_factor: float
    usd: float
    forecast: bool


@dataclass(frozen=True)
class Outlook:
    """What follows from the trials of a sweep.

    Attributes:
        trials: The trials of each model, by its name, at each scale factor.
        price: What the engine's work costs.
        timeout_s: The time limit of a query, in seconds.
        compared: The names of the models that are compared with one another.
        beyond: Scale factors that are forecast; for None the next three powers of ten above those
            that were measured.
    """

    trials: Mapping[str, Mapping[float, Sequence[Trial]]]
    price: EnginePrice
    timeout_s: float
    compared: Sequence[str]
    beyond: tuple[float, ...] | None = None

    @cached_property
    def scale_factors(self) -> tuple[float, ...]:
        """Those that were measured, ascending."""
        return tuple(sorted({scale for scales in self.trials.values() for scale in scales}))

    @cached_property
    def ahead(self) -> tuple[float, ...]:
        """The scale factors that are forecast, ascending."""
        if self.beyond is not None:
            return tuple(sorted(self.beyond))
        if not self.scale_factors:
            return ()
        return tuple(self.scale_factors[-1] * 10.0**n for n in range(1, _DECADES + 1))

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Each query that executed, with its executions at every scale factor."""
        points: dict[str, list[Point]] = {}
        for name, scales in self.trials.items():
            for trial in (each for trials in scales.values() for each in trials):
                points.setdefault(_id(name, trial), []).extend(_points(trial))
        return tuple(Query(name, tuple(each)) for name, each in points.items() if each)

    @cached_property
    def held_out(self) -> HeldOut | None:
        """The largest scale factor, predicted from the smaller ones; None with fewer than three.

        None as well where no query executed.
        """
        return held_out(self.queries) if len(self.scale_factors) > 2 and self.queries else None

    @cached_property
    def forecasts(self) -> Mapping[str, Mapping[float, CvqForecast]]:
        """What each model's valid answers will cost at the scale factors ahead.

        Nothing of a model that was not measured at the largest scale factor.
        """
        found: dict[str, dict[float, CvqForecast]] = {}
        if len(self.scale_factors) < 2:
            return found
        for scale in self.ahead:
            made = {each.id: each for each in forecast(self.queries, scale)}
            for name, scales in self.trials.items():
                there = counted(scales.get(self.scale_factors[-1], ()))
                if there:
                    found.setdefault(name, {})[scale] = forecast_cvq(
                        [self._translated(trial, made.get(_id(name, trial))) for trial in there],
                        self.price,
                        timeout_s=self.timeout_s,
                    )
        return found

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the cheaper one of two models changes, the smallest scale factor first."""
        curves = {name: curve for name in self.compared if (curve := self._curve(name)) is not None}
        found = []
        for one, other in combinations(curves, 2):
            within = self.scale_factors[0], (self.ahead or self.scale_factors)[-1]
            for each in crossovers(curves[one], curves[other], within=within) or ():
                first = each.cheaper_beyond == "first"
                found.append(
                    Crossing(
                        cheaper=one if first else other,
                        dearer=other if first else one,
                        scale_factor=each.scale_factor,
                        usd=curves[one].cvq(each.scale_factor) or 0.0,
                        forecast=each.scale_factor > self.scale_factors[-1],
                    )
                )
        return tuple(sorted(found, key=lambda each: each.scale_factor))

    def _translated(self, trial: Trial, made: Forecast | None) -> Translated:
        usd = trial.cost.usd
        ran = run_step(trial)
        if ran is not None and usd is not None:
            run_usd = (
                self.price.usd_per_s * ran.engine_s
                if isinstance(self.price, Machine)
                else self.price.query_usd(ran.scanned_bytes)
            )
            usd = None if run_usd is None else usd - run_usd
        valid = trial.verdict is not None and trial.verdict.focus
        return Translated(made, float(valid), usd)

    def _curve(self, name: str) -> CostCurve | None:
        """Return what a model costs by scale factor; None where that is not known."""
        scales = {scale: summarise(each) for scale, each in self.trials[name].items()}
        if len(scales) < 2:
            return None
        last = scales[max(scales)]
        engine_usd = {scale: each.engine_usd for scale, each in scales.items() if each.engine_usd}
        if last.ex.mean is None or last.llm_usd is None or len(engine_usd) < len(scales):
            return None
        ahead = {
            scale: each.engine_usd
            for scale, each in self.forecasts.get(name, {}).items()
            if each.engine_usd and not each.timeouts  # beyond these, p is another
        }
        return CostCurve(last.ex.mean, last.llm_usd, engine_usd, ahead)


def _id(name: str, trial: Trial) -> str:
    return f"{trial.key.question_id}, {name}, {trial.key.replica}"


def _points(trial: Trial) -> Iterator[Point]:
    """Yield the executions of a trial's query."""
    scale, ran = trial.key.scale_factor, run_step(trial)
    if scale is None or ran is None:
        return
    if trial.status == "timeout":
        yield Point(scale, ran.engine_s, timed_out=True)
    if trial.status not in _EXECUTED:
        return
    read_bytes = ran.facts.read_bytes if ran.facts is not None else None
    read_rows = ran.facts.read_rows if ran.facts is not None else None
    for seconds in trial.timing.generated_s if trial.timing is not None else (ran.engine_s,):
        yield Point(scale, seconds, read_bytes, read_rows)
