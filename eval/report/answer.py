"""The answer in words: which model is cheapest per valid query, and which is most accurate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bothends.eval.report.caveats import caveats
from bothends.eval.report.format import dollars, number
from bothends.eval.report.scale import scale_words
from bothends.eval.report.source import Group, ReportInput, contenders, groups
from bothends.eval.report.words import plural, title, titles, unpriced

__all__ = ["answer", "headline"]


def answer(source: ReportInput) -> list[str]:
    """Return the whole answer: what follows from the figures, then what to be careful about."""
    return [*headline(source), *caveats(source)]


def headline(source: ReportInput) -> list[str]:
    """Return what follows from the figures, the shortest statement first.

    Of several scale factors, the largest is spoken of in full, and of each other the first
    sentence: data of another scale is other work, and what costs less on it is no better for that.
    Where models change places follows.
    """
    if not source.trials:
        return ["No trial has finished yet, so there is nothing to compare."]
    factors = source.scale_factors
    if len(factors) < 2:
        return _headline(source, groups(source))
    said: list[str] = []
    for factor in reversed(factors):
        found = [group.by_label() for group in groups(source) if group.scale_factor == factor]
        sentences = _headline(source, found)
        said += [f"At SF {factor:g}: {each}" for each in (sentences[:1] if said else sentences)]
    return said + scale_words(source)


def _headline(source: ReportInput, found: Sequence[Group]) -> list[str]:
    ranked = contenders(found)
    if not ranked:
        return [f"None of the {plural(len(source.trials), 'trial')} could be scored."]
    if not any(group.valid for group in ranked):
        scored = sum(group.summary.counted for group in ranked)
        return [
            f"{titles(ranked)} gave no valid answer in {plural(scored, 'trial')}: "
            "there is no cost per valid query."
        ]
    if len(ranked) == 1:
        return _single(ranked[0])
    return [*_cost(ranked), *_accuracy(ranked)]


def _single(group: Group) -> list[str]:
    valid = f"{group.valid} of its {plural(group.summary.counted, 'trial')} gave a valid answer"
    if group.summary.cvq.mean is None:
        return [f"{title(group)} has an EX of {_ex(group)}.", f"{valid}.", unpriced([group])]
    return [
        f"{title(group)} costs {_cvq(group)} per valid query.",
        f"Its EX is {_ex(group)}: {valid}, and an attempt costs {_attempt(group)}.",
    ]


def _cost(ranked: Sequence[Group]) -> list[str]:
    priced = sorted((group for group in ranked if group.summary.cvq.mean is not None), key=_cvq_usd)
    if not priced:
        return ["No cost per valid query is known.", unpriced([g for g in ranked if g.valid])]
    # What reads the same is a tie: a reader must not be told of a difference that is not shown.
    leaders = [group for group in priced if _cvq(group) == _cvq(priced[0])]
    if len(priced) == 1:
        sentences = [f"Only {title(priced[0])} has a cost per valid query: {_cvq(priced[0])}."]
    elif len(leaders) == 1:
        sentences = [f"{title(leaders[0])} costs the least per valid query: {_cvq(leaders[0])}."]
    else:
        sentences = [f"{titles(leaders)} cost the least per valid query: {_cvq(leaders[0])} each."]
    told = list(leaders)
    if len(priced) > len(leaders):
        told.append(priced[len(leaders)])
        sentences.append(_runner_up(told[-1], leaders))
    thrifty = min(ranked, key=_attempt_usd)
    if thrifty not in told and _attempt_usd(thrifty) < min(map(_attempt_usd, told)):
        told.append(thrifty)
        sentences.append(_thrifty(thrifty))
    invalid = [group for group in ranked if not group.valid and group not in told]
    if invalid:
        sentences.append(f"{titles(invalid)} gave no valid answer.")
    return sentences


def _runner_up(group: Group, leaders: Sequence[Group]) -> str:
    leader = leaders[0]
    sentence = f"{title(group)} is next at {_cvq(group)}"
    if times := _times(group, leader):
        sentence += f", {times}"
    # Cheap attempts that are seldom right are dear: the point of counting both ends.
    if len(leaders) == 1 and _attempt_usd(group) < _attempt_usd(leader):
        sentence += (
            f", although each of its attempts costs less ({_attempt(group)} against "
            f"{_attempt(leader)}): fewer of them are valid"
        )
    return f"{sentence}."


def _thrifty(group: Group) -> str:
    start = f"{title(group)} has the cheapest attempts ({_attempt(group)}), but"
    if not group.valid:
        return f"{start} none of its {group.summary.counted} is valid."
    share = f"{group.valid} of its {group.summary.counted}"
    return f"{start} only {share} are valid, which makes {_cvq(group)} per valid query."


def _accuracy(ranked: Sequence[Group]) -> list[str]:
    top = max(_rate(group) for group in ranked)
    leaders = [group for group in ranked if _rate(group) == top]
    if len(leaders) == len(ranked):
        return [f"All are equally accurate: EX {_ex(leaders[0])}."]
    leader, cheapest = leaders[0], min(ranked, key=_cvq_usd)
    known = cheapest.summary.cvq.mean is not None
    against = f", against {_ex(cheapest)} for {title(cheapest)}" if known else ""
    if len(leaders) > 1:
        against = "" if cheapest in leaders else against
        return [f"{titles(leaders)} are the most accurate: EX {_ex(leader)}{against}."]
    rate = f"EX {_ex(leader)}, {leader.valid} of {plural(leader.summary.counted, 'trial')} valid"
    if known and cheapest is leader:
        return [f"{title(leader)} is also the most accurate: {rate}."]
    sentence = f"{title(leader)} is the most accurate: {rate}{against}"
    if not known:
        return [f"{sentence}."]
    if leader.summary.cvq.mean is None:
        return [f"{sentence}; what it costs is not known."]
    times = _times(leader, cheapest)
    return [f"{sentence}, at {_cvq(leader)} per valid query{f' ({times})' if times else ''}."]


def _times(group: Group, cheapest: Group) -> str:
    """Return how many times as much a valid query costs, where that says anything."""
    base_usd = _cvq_usd(cheapest)
    ratio = _cvq_usd(group) / base_usd if base_usd > 0 else 0.0
    if ratio < 1.05:
        return ""
    return f"{ratio:.1f} times as much" if ratio < 10 else f"{ratio:,.0f} times as much"


def _rate(group: Group) -> float:
    return group.summary.ex.mean or 0.0


def _ex(group: Group) -> str:
    return number(group.summary.ex.mean, "rate")


def _cvq(group: Group) -> str:
    return dollars(group.summary.cvq.mean)


def _attempt(group: Group) -> str:
    return dollars(group.summary.cost_usd.mean)


def _cvq_usd(group: Group) -> float:
    """Return a model's CVQ, and infinity where it has none, so that it comes last."""
    return math.inf if group.summary.cvq.mean is None else group.summary.cvq.mean


def _attempt_usd(group: Group) -> float:
    usd = group.summary.cost_usd.mean
    return math.inf if usd is None else usd
