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
from bothends.eval.metrics import Summary, counted, summarise
from bothends.eval.record import Trial
from bothends.eval.sweep_directory import unscaled
from bothends.infra.prices import EnginePrice, Machine

__all__ = ["Crossing", "Outlook"]

_DECADES = 3
_EXECUTED = frozenset({"ok", "unjudged"})


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where one model becomes the cheaper one for a valid answer, with more data.

    Attributes:
        cheaper: The spec of the model that is cheaper from there on.
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
        trials: Every trial.
        price: What the engine's work costs.
        timeout_s: The time limit of a query, in seconds.
        compared: The specs of the models that are compared with one another.
        beyond: Scale factors that are forecast; for None the next three powers of ten above those
            that were measured.
    """

    trials: Sequence[Trial]
    price: EnginePrice
    timeout_s: float
    compared: Sequence[str]
    beyond: tuple[float, ...] | None = None

    @cached_property
    def scale_factors(self) -> tuple[float, ...]:
        """Those that were measured, ascending."""
        return tuple(
            sorted({t.key.scale_factor for t in self.trials if t.key.scale_factor is not None})
        )

    @cached_property
    def ahead(self) -> tuple[float, ...]:
        """The scale factors that are forecast, ascending."""
        if self.beyond is not None:
            return tuple(sorted(self.beyond))
        if not self.scale_factors:
            return ()
        return tuple(self.scale_factors[-1] * 10.0**n for n in range(1, _DECADES + 1))

    @cached_property
    def measured(self) -> Mapping[str, Mapping[float, Summary]]:
        """The metrics of each model at each scale factor at which it has trials."""
        found: dict[str, dict[float, list[Trial]]] = {}
        for trial in self.trials:
            scales = found.setdefault(trial.key.model, {})
            scales.setdefault(trial.key.scale_factor or 0.0, []).append(trial)
        return {
            spec: {scale: summarise(scales[scale]) for scale in sorted(scales)}
            for spec, scales in found.items()
        }

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Each query that executed, with its executions at every scale factor."""
        points: dict[str, list[Point]] = {}
        for trial in self.trials:
            points.setdefault(_name(trial), []).extend(_points(trial))
        return tuple(Query(name, tuple(each)) for name, each in points.items() if each)

    @cached_property
    def held_out(self) -> HeldOut | None:
        """The largest scale factor, predicted from the smaller ones; None with fewer than three."""
        return held_out(self.queries) if len(self.scale_factors) > 2 else None

    @cached_property
    def forecasts(self) -> Mapping[str, Mapping[float, CvqForecast]]:
        """What each model's valid answers will cost at the scale factors ahead.

        Nothing of a model whose trials at the largest scale factor are not all in.
        """
        found: dict[str, dict[float, CvqForecast]] = {}
        if len(self.scale_factors) < 2:
            return found
        largest = self.scale_factors[-1]
        known = {each.id for each in self.queries}
        for scale in self.ahead:
            made = {each.id: each for each in forecast(self.queries, scale)}
            for spec in self.measured:
                there = counted(
                    [
                        t
                        for t in self.trials
                        if t.key.model == spec and t.key.scale_factor == largest
                    ]
                )
                if there:
                    translated = [self._translated(trial, made, known) for trial in there]
                    found.setdefault(spec, {})[scale] = forecast_cvq(
                        translated, self.price, timeout_s=self.timeout_s
                    )
        return found

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the cheaper one of two models changes, the smallest scale factor first."""
        curves = {spec: curve for spec in self.compared if (curve := self._curve(spec)) is not None}
        found = [
            Crossing(
                *((one, other) if each.cheaper_beyond == "first" else (other, one)),
                each.scale_factor,
                curves[one].cvq(each.scale_factor) or 0.0,
                each.scale_factor > self.scale_factors[-1],
            )
            for one, other in combinations(curves, 2)
            for each in crossovers(
                curves[one],
                curves[other],
                within=(self.scale_factors[0], (self.ahead or self.scale_factors)[-1]),
            )
            or ()
        ]
        return tuple(sorted(found, key=lambda each: each.scale_factor))

    def _translated(
        self, trial: Trial, made: Mapping[str, Forecast], known: set[str]
    ) -> Translated:
        ran = run_step(trial) if trial.sql is not None and trial.steps else None
        usd = trial.cost.usd
        if ran is not None and usd is not None:
            run_usd = (
                self.price.usd_per_s * ran.engine_s
                if isinstance(self.price, Machine)
                else self.price.query_usd(ran.scanned_bytes)
            )
            usd = None if run_usd is None else usd - run_usd
        name = _name(trial)
        valid = trial.verdict is not None and trial.verdict.focus
        return Translated(made.get(name) if name in known else None, float(valid), usd)

    def _curve(self, spec: str) -> CostCurve | None:
        """Return what a model costs by scale factor; None where that is not known."""
        scales = self.measured.get(spec, {})
        if len(scales) < 2:
            return None
        p, llm_usd = scales[max(scales)].ex.mean, scales[max(scales)].llm_usd
        engine_usd = {scale: s.engine_usd for scale, s in scales.items()}
        ahead = {
            scale: each.engine_usd
            for scale, each in self.forecasts.get(spec, {}).items()
            if not each.timeouts  # beyond these, p is another
        }
        known = [usd for usd in engine_usd.values() if usd]
        if p is None or llm_usd is None or len(known) < len(engine_usd):
            return None
        return CostCurve(
            p,
            llm_usd,
            {scale: usd for scale, usd in engine_usd.items() if usd},
            {scale: usd for scale, usd in ahead.items() if usd},
        )


def _name(trial: Trial) -> str:
    key = unscaled(trial.key)
    return f"{key.question_id} {key.model} {key.replica}"


def _points(trial: Trial) -> Iterator[Point]:
    """Yield the executions of a trial's query."""
    scale = trial.key.scale_factor
    if scale is None or trial.sql is None or not trial.steps:
        return
    ran = run_step(trial)
    if trial.status == "timeout":
        yield Point(scale, ran.engine_s, timed_out=True)
    if trial.status not in _EXECUTED:
        return
    facts = ran.facts
    read_bytes = facts.read_bytes if facts is not None else None
    read_rows = facts.read_rows if facts is not None else None
    for seconds in trial.timing.generated_s if trial.timing is not None else (ran.engine_s,):
        yield Point(scale, seconds, read_bytes, read_rows)
