"""The numbers: what the trials of one configuration add up to.

Every metric drops the trials that measured something else first (see `counted`), and is None
where it is undefined or where something that it needs is unknown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Final

from bothends.agent.record import STAGES, Stage
from bothends.eval.official import trial_em, trial_r_ves, trial_soft_f1
from bothends.eval.record import ErrorClass, Status, Trial

__all__ = [
    "VALUES",
    "Estimate",
    "Summary",
    "burned_share",
    "burned_usd",
    "counted",
    "cvq",
    "em",
    "ex",
    "ex_exact",
    "ex_ordered",
    "ex_set",
    "r_ves",
    "soft_f1",
    "summarise",
    "vces",
    "ves",
    "ves_star",
]

_EXCLUDED: tuple[Status, ...] = ("provider_error", "gold_failed", "unjudged")


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
    cost_usd: Estimate
    llm_usd: float | None
    engine_usd: float | None
    llm_s: float | None
    engine_s: float | None
    input_tokens: float | None
    output_tokens: float | None
    estimated: bool
    replayed: bool


def counted(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that say something about the model.

    A provider that could not be reached, gold that did not execute, or a result of which it
    cannot be told whether it is right says nothing of it.
    """
    return tuple(trial for trial in trials if trial.status not in _EXCLUDED)


def ex(trials: Sequence[Trial]) -> float | None:
    """Execution accuracy: EX = mean(valid_i), where gold is contained in the result (eq. 2)."""
    return _mean(trials, _valid)


def ex_exact(trials: Sequence[Trial]) -> float | None:
    """EX by equal multisets of rows: mean(exact_i) (equation 7)."""
    return _mean(trials, _exact)


def ex_ordered(trials: Sequence[Trial]) -> float | None:
    """EX by equal rows in gold's order, where gold has one: mean(ordered_i)."""
    return _mean(trials, _ordered)


def ex_set(trials: Sequence[Trial]) -> float | None:
    """EX by BIRD's own rule, equal sets of row tuples; None where one cannot be told."""
    return _mean(trials, _bird_set)


def em(trials: Sequence[Trial]) -> float | None:
    """Exact match: how many queries are gold's own, after sqlglot's reading of both."""
    return _mean(trials, trial_em)


def soft_f1(trials: Sequence[Trial]) -> float | None:
    """BIRD's Soft-F1: the mean over the questions, 0 where a query did not execute."""
    return _mean(trials, trial_soft_f1)


def r_ves(trials: Sequence[Trial]) -> float | None:
    """BIRD's R-VES: the mean of the square roots of the rewards, at most 1.118."""
    return _mean(trials, trial_r_ves)


def ves(trials: Sequence[Trial]) -> float | None:
    """Valid efficiency score: VES = mean(exact_i * T_gold_i / T_gen_i), medians of the timings.

    A query that failed in a timed repeat counts as infinitely slow: 0.
    """
    return _mean(trials, _ves)


def ves_star(trials: Sequence[Trial]) -> float | None:
    """VES* = mean(valid_i * P_i * T_gold_i / T_e2e_i), end to end (equation 1)."""
    return _mean(trials, _ves_star)


def vces(trials: Sequence[Trial]) -> float | None:
    """Valid cost-efficiency score, per dollar (equation 3).

    VCES = mean(valid_i * P_i * (T_gold_i / T_e2e_i) / C_e2e_i). None where a valid trial's cost
    is unknown or 0; an invalid trial adds 0 whatever it cost.
    """
    return _mean(trials, _vces)


def cvq(trials: Sequence[Trial]) -> float | None:
    """Expected cost per valid query, in dollars: CVQ = mean(C_e2e_i) / p with p = mean(valid_i).

    None at p = 0, and where a trial's cost is unknown.
    """
    cost, p = _mean(trials, _cost), ex(trials)
    return None if cost is None or not p else cost / p


def burned_usd(trials: Sequence[Trial]) -> float | None:
    """Return the dollars that bought nothing: the sum of (1 - valid_i) C_e2e_i.

    None where an invalid trial's cost is unknown.
    """
    invalid = [trial for trial in counted(trials) if not _valid(trial)]
    return 0.0 if counted(trials) and not invalid else _total(invalid)


def burned_share(trials: Sequence[Trial]) -> float | None:
    """Return the share of all dollars that bought nothing.

    It is sum((1 - valid_i) C_e2e_i) / sum(C_e2e_i), which is 1 - p where every attempt costs the
    same, and more where the invalid ones are the dearer. None where a cost is unknown, or nothing
    was spent.
    """
    burned, spent = burned_usd(trials), _total(counted(trials))
    return None if burned is None or not spent else burned / spent


def summarise(trials: Sequence[Trial]) -> Summary:
    """Add up the trials of one configuration: one model, engine, scale factor and recipe."""
    kept = counted(trials)
    statuses = Counter(trial.status for trial in trials)
    cost_usd, p = _estimate(kept, _cost), ex(kept)
    return Summary(
        trials=len(trials),
        counted=len(kept),
        excluded={status: statuses[status] for status in _EXCLUDED if status in statuses},
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
        ex=_estimate(kept, _valid),
        ex_exact=_estimate(kept, _exact),
        ex_ordered=_estimate(kept, _ordered),
        ex_set=_estimate(kept, _bird_set),
        em=_estimate(kept, trial_em),
        soft_f1=_estimate(kept, trial_soft_f1),
        r_ves=_estimate(kept, trial_r_ves),
        ves=_estimate(kept, _ves),
        ves_star=_estimate(kept, _ves_star),
        vces=_estimate(kept, _vces),
        cvq=Estimate(cvq(kept), cost_usd.sd / p if p and cost_usd.sd is not None else None),
        burned_usd=burned_usd(kept),
        burned_share=burned_share(kept),
        e2e_s=_estimate(kept, _e2e_s),
        stage_s={stage: fmean(_stage_s(trial, stage) for trial in kept) for stage in STAGES}
        if kept
        else {},
        overhead_s=fmean(trial.overhead_s for trial in kept) if kept else None,
        stage_usd={stage: _mean(kept, _stage_usd(stage)) for stage in STAGES} if kept else {},
        cost_usd=cost_usd,
        llm_usd=_mean(kept, lambda trial: trial.cost.llm_usd),
        engine_usd=_mean(kept, lambda trial: trial.cost.engine_usd),
        llm_s=_mean(kept, lambda trial: sum(each.llm_s for each in trial.stages.values())),
        engine_s=_mean(kept, lambda trial: sum(each.engine_s for each in trial.stages.values())),
        input_tokens=_mean(kept, _input_tokens),
        output_tokens=_mean(kept, _output_tokens),
        estimated=any(trial.cost.estimated for trial in kept),
        replayed=any(trial.replayed for trial in kept),
    )


_Value = Callable[[Trial], float | None]


def _known(trials: Sequence[Trial], value: _Value) -> list[float] | None:
    known = []
    for trial in trials:
        each = value(trial)
        if each is None:
            return None
        known.append(each)
    return known or None


def _mean(trials: Sequence[Trial], value: _Value) -> float | None:
    values = _known(counted(trials), value)
    return None if values is None else fmean(values)


def _total(trials: Sequence[Trial]) -> float | None:
    costs = _known(trials, _cost)
    return None if costs is None else sum(costs)


def _estimate(trials: Sequence[Trial], value: _Value) -> Estimate:
    values = _known(trials, value)
    if values is None:
        return Estimate(None, None)
    spread = values
    if len({(trial.key.suite, trial.key.question_id) for trial in trials}) > 1:
        by_replica = defaultdict(list)
        for trial, each in zip(trials, values, strict=True):
            by_replica[trial.key.replica].append(each)
        spread = [fmean(replica) for replica in by_replica.values()]
    return Estimate(fmean(values), pstdev(spread) if len(spread) > 1 else None)


def _valid(trial: Trial) -> float:
    return float(trial.verdict is not None and trial.verdict.focus)


def _exact(trial: Trial) -> float:
    return float(trial.verdict is not None and trial.verdict.exact)


def _ordered(trial: Trial) -> float:
    return float(trial.verdict is not None and trial.verdict.ordered)


def _bird_set(trial: Trial) -> float | None:
    if trial.verdict is None:
        return 0.0
    return None if trial.verdict.bird_set is None else float(trial.verdict.bird_set)


def _ves(trial: Trial) -> float | None:
    if not _exact(trial):
        return 0.0
    if trial.timing is None:
        return None
    generated_s = trial.timing.generated_median_s
    return 0.0 if generated_s is None else trial.timing.gold_median_s / generated_s


def _ves_star(trial: Trial) -> float | None:
    if trial.verdict is None or not trial.verdict.focus:
        return 0.0
    if trial.timing is None or trial.e2e_s is None:
        return None
    return trial.verdict.precision * trial.timing.gold_median_s / trial.e2e_s


def _vces(trial: Trial) -> float | None:
    efficiency = _ves_star(trial)
    if not efficiency:
        return efficiency
    return efficiency / trial.cost.usd if trial.cost.usd else None


def _cost(trial: Trial) -> float | None:
    return trial.cost.usd


def _e2e_s(trial: Trial) -> float | None:
    return trial.e2e_s


def _stage_s(trial: Trial, stage: Stage) -> float:
    return trial.stages[stage].seconds if stage in trial.stages else 0.0


def _stage_usd(stage: Stage) -> _Value:
    return lambda trial: trial.stages[stage].usd if stage in trial.stages else 0.0


def _input_tokens(trial: Trial) -> float | None:
    return None if trial.usage is None else trial.usage.input_tokens


def _output_tokens(trial: Trial) -> float | None:
    return None if trial.usage is None else trial.usage.output_tokens


VALUES: Final[Mapping[str, Callable[[Trial], float | None]]] = {
    "ex": _valid,
    "ex_exact": _exact,
    "ex_ordered": _ordered,
    "ex_set": _bird_set,
    "em": trial_em,
    "soft_f1": trial_soft_f1,
    "r_ves": trial_r_ves,
    "ves": _ves,
    "ves_star": _ves_star,
    "vces": _vces,
    "cost_usd": _cost,
    "e2e_s": _e2e_s,
}
"""What one counted trial contributes to the mean that a metric is, by the metric's name."""
