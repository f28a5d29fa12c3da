"""What the trials of one configuration add up to: every metric, with its spread."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from bothends.agent.record import STAGES, Stage
from bothends.eval.metrics import (
    EXCLUDED,
    VALUES,
    Value,
    burned_share,
    burned_usd,
    counted,
    cvq,
    known_values,
    mean_value,
)
from bothends.eval.record import ErrorClass, Status, Trial

__all__ = ["Estimate", "Summary", "summarise"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its spread.

    Attributes:
        mean: The mean; None where it is undefined or unknown.
        sd: The population standard deviation: over the trials where they are of one question,
            over the replicas' means where they are of several. None where there is only one.
    """

    mean: float | None
    sd: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that the trials of one configuration add up to.

    Rates, metrics, seconds, dollars and tokens are those of the counted trials.

    Attributes:
        trials: How many there are.
        counted: How many of them count.
        excluded: How many do not, by status.
        statuses: How all of them ended.
        classes: How many of the counted results are wrong in which way.
        questions: How many questions they are of.
        replicas: How many repetitions there are at most.
        ex: `ex` with its spread; so are the next ten.
        ex_exact: By `exact`.
        ex_ordered: By `ordered`.
        ex_set: By BIRD's own rule.
        em: Exact match of the queries.
        soft_f1: BIRD's Soft-F1.
        r_ves: BIRD's R-VES.
        ves: Valid efficiency score.
        ves_star: The same end to end.
        vces: Per dollar.
        cvq: Dollars per valid query.
        burned_usd: Dollars of all attempts that gave no valid answer.
        burned_share: Their share of all dollars.
        e2e_s: T_e2e.
        stage_s: Mean seconds of each stage.
        overhead_s: Mean seconds outside the stages.
        stage_usd: Mean dollars of each stage; None where one is unknown.
        overhead_usd: Mean dollars that no stage is charged for: the engine's wall seconds during
            the overhead. None where a dollar is unknown.
        cost_usd: C_e2e.
        llm_usd: Mean dollars for the LLM; None where one is unknown.
        engine_usd: Mean dollars for the engine; likewise.
        llm_s: Mean seconds in LLM calls.
        engine_s: Mean seconds in which the engine worked.
        input_tokens: Mean prompt tokens; None where a trial's are unknown.
        output_tokens: Mean reply tokens; likewise.
        estimated: Some tokens were counted here, not reported.
        replayed: Some LLM seconds and tokens are a recording's.
    """

    trials: int
    counted: int
    excluded: dict[Status, int]
    statuses: dict[Status, int]
    classes: dict[ErrorClass, int]
    questions: int
    replicas: int
    ex: Estimate
    ex_exact: Estimate
    ex_ordered: Estimate
    ex_set: Estimate
    em: Estimate
    soft_f1: Estimate
    r_ves: Estimate
    ves: Estimate
    ves_star: Estimate
    vces: Estimate
    cvq: Estimate
    burned_usd: float | None
    burned_share: float | None
    e2e_s: Estimate
    stage_s: dict[Stage, float]
    overhead_s: float | None
    stage_usd: dict[Stage, float | None]
    overhead_usd: float | None
    cost_usd: Estimate
    llm_usd: float | None
    engine_usd: float | None
    llm_s: float | None
    engine_s: float | None
    input_tokens: float | None
    output_tokens: float | None
    estimated: bool
    replayed: bool


def summarise(trials: Sequence[Trial]) -> Summary:
    """Add up the trials of one configuration: one model, engine, scale factor and recipe."""
    kept = counted(trials)
    statuses = Counter(trial.status for trial in trials)
    cost_usd, ex = _estimate(kept, VALUES["cost_usd"]), _estimate(kept, VALUES["ex"])
    p = ex.mean
    return Summary(
        trials=len(trials),
        counted=len(kept),
        excluded={status: statuses[status] for status in EXCLUDED if status in statuses},
        statuses=dict(statuses),
        classes=dict(
            Counter(
                trial.verdict.error_class
                for trial in kept
                if trial.verdict is not None and trial.verdict.error_class is not None
            )
        ),
        questions=len({(trial.key.suite, trial.key.question_id) for trial in trials}),
        replicas=len({trial.key.replica for trial in trials}),
        ex=ex,
        ex_exact=_estimate(kept, VALUES["ex_exact"]),
        ex_ordered=_estimate(kept, VALUES["ex_ordered"]),
        ex_set=_estimate(kept, VALUES["ex_set"]),
        em=_estimate(kept, VALUES["em"]),
        soft_f1=_estimate(kept, VALUES["soft_f1"]),
        r_ves=_estimate(kept, VALUES["r_ves"]),
        ves=_estimate(kept, VALUES["ves"]),
        ves_star=_estimate(kept, VALUES["ves_star"]),
        vces=_estimate(kept, VALUES["vces"]),
        cvq=Estimate(cvq(kept), cost_usd.sd / p if p and cost_usd.sd is not None else None),
        burned_usd=burned_usd(kept),
        burned_share=burned_share(kept),
        e2e_s=_estimate(kept, VALUES["e2e_s"]),
        stage_s={stage: fmean(_stage_s(trial, stage) for trial in kept) for stage in STAGES}
        if kept
        else {},
        overhead_s=fmean(trial.overhead_s for trial in kept) if kept else None,
        stage_usd={stage: mean_value(kept, _stage_usd(stage)) for stage in STAGES} if kept else {},
        overhead_usd=mean_value(kept, _overhead_usd),
        cost_usd=cost_usd,
        llm_usd=mean_value(kept, lambda trial: trial.cost.llm_usd),
        engine_usd=mean_value(kept, lambda trial: trial.cost.engine_usd),
        llm_s=mean_value(kept, lambda trial: sum(each.llm_s for each in trial.stages.values())),
        engine_s=mean_value(
            kept, lambda trial: sum(each.engine_s for each in trial.stages.values())
        ),
        input_tokens=mean_value(kept, _input_tokens),
        output_tokens=mean_value(kept, _output_tokens),
        estimated=any(trial.cost.estimated for trial in kept),
        replayed=any(trial.replayed for trial in kept),
    )


def _estimate(trials: Sequence[Trial], value: Value) -> Estimate:
    values = known_values(trials, value)
    if values is None:
        return Estimate(None, None)
    spread = values
    if len({(trial.key.suite, trial.key.question_id) for trial in trials}) > 1:
        by_replica = defaultdict(list)
        for trial, each in zip(trials, values, strict=True):
            by_replica[trial.key.replica].append(each)
        spread = [fmean(replica) for replica in by_replica.values()]
    return Estimate(fmean(values), pstdev(spread) if len(spread) > 1 else None)


def _stage_s(trial: Trial, stage: Stage) -> float:
    return trial.stages[stage].seconds if stage in trial.stages else 0.0


def _stage_usd(stage: Stage) -> Value:
    return lambda trial: trial.stages[stage].usd if stage in trial.stages else 0.0


def _overhead_usd(trial: Trial) -> float | None:
    parts = [stage.usd for stage in trial.stages.values()]
    known = [usd for usd in parts if usd is not None]
    if trial.cost.usd is None or len(known) < len(parts):
        return None
    rest_usd = trial.cost.usd - sum(known)
    # And not what is left of adding floats up.
    return rest_usd if rest_usd > 1e-12 * trial.cost.usd else 0.0


def _input_tokens(trial: Trial) -> float | None:
    return None if trial.usage is None else trial.usage.input_tokens


def _output_tokens(trial: Trial) -> float | None:
    return None if trial.usage is None else trial.usage.output_tokens
