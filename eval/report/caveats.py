"""What a reader must know before relying on the figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bothends.eval.record import Trial
from bothends.eval.report.scale import lost_questions
from bothends.eval.report.source import Group, ReportInput, contenders, groups
from bothends.eval.report.words import join, plural, titles, unpriced

__all__ = ["FEW_REPLICAS", "caveats"]

_NAMED = 10
_WIDE = 0.5
_OFTEN = 0.1
FEW_REPLICAS = 5
"""Below this many replicas a report warns of chance."""


def caveats(source: ReportInput) -> list[str]:
    """Return the caveats that apply to a run, a sentence or two each."""
    return [
        *_unfinished(source),
        *_lost(source),
        *_left_out(source),
        *_bases(source),
        *_excluded(source.trials),
        *_skipped(source.trials),
        *_timings(source.trials),
        *_few(source),
    ]


def _unfinished(source: ReportInput) -> Iterable[str]:
    if source.missing:
        expected = len(source.trials) + source.missing
        yield f"The run is not finished: {len(source.trials):,} of {expected:,} trials are in."


def _lost(source: ReportInput) -> Iterable[str]:
    lost = lost_questions(source)
    if lost:
        yield (
            f"Gold failed at some scale factors on {plural(len(lost), 'question')} "
            f"({join(list(lost))}), so that figures at these are of fewer questions than at the "
            "others and must not be compared with them; crossings and the forecast leave "
            f"{'it' if len(lost) == 1 else 'them'} out everywhere. A longer --timeout may help."
        )


def _left_out(source: ReportInput) -> Iterable[str]:
    if source.left_out:
        names, more = list(source.left_out)[:_NAMED], len(source.left_out) - _NAMED
        named = join([*names, f"{more} more"] if more > 0 else names)
        yield (
            f"{plural(len(source.left_out), 'question')} not asked, since their gold does not hold "
            f"on this engine: {named}. manifest.json says why."
        )


def _bases(source: ReportInput) -> Iterable[str]:
    found = groups(source)
    compared = contenders(found)
    scripts = _labelled(group for group in found if group.model.kind == "scripted")
    if scripts:
        one = len(scripts) == 1
        names = join([group.name for group in scripts])
        among = any(group.model.kind == "scripted" for group in compared)
        yield (
            f"{names} {'is a script that is' if one else 'are scripts that are'} told the SQL: "
            f"{'it calibrates' if one else 'they calibrate'} the instrument and "
            f"{'says' if one else 'say'} nothing of a model"
            f"{'' if among else ', and the comparison leaves them out'}."
        )
    replayed = _labelled(group for group in found if group.summary.replayed)
    if replayed:
        yield (
            f"{titles(replayed)}: replayed from a recording, whose seconds and tokens are counted "
            "in place of this machine's."
        )
    estimated = _labelled(group for group in found if group.summary.estimated)
    if estimated:
        yield (
            f"{titles(estimated)}: tokens were counted here with a tokenizer, not by a provider; "
            "dollars by the token rest on that."
        )
    unknown = _labelled(g for g in found if g.summary.counted and g.summary.cost_usd.mean is None)
    if unknown:
        yield unpriced(unknown)


def _labelled(found: Iterable[Group]) -> list[Group]:
    """Return one group for each label: what is said here holds at each scale factor."""
    return list({group.label: group.by_label() for group in found}.values())


def _excluded(trials: Iterable[Trial]) -> Iterable[str]:
    trials = tuple(trials)
    faults = sum(trial.status == "provider_error" for trial in trials)
    if faults:
        yield f"{plural(faults, 'trial')} left out of every figure: the model's provider failed."
    lost = [trial.key.question_id for trial in trials if trial.status == "gold_failed"]
    if lost:
        yield (
            f"{plural(len(lost), 'trial')} left out of every figure: gold failed on question "
            f"{join(list(dict.fromkeys(lost)))}."
        )
    untold = [trial.key.question_id for trial in trials if trial.status == "unjudged"]
    if untold:
        yield (
            f"{plural(len(untold), 'trial')} left out of every figure: whether the result is right "
            f"cannot be told on question {join(list(dict.fromkeys(untold)))}."
        )
    empty = [t.key.question_id for t in trials if t.verdict is not None and t.verdict.empty_gold]
    if empty:
        yield (
            f"Gold has no rows, or nothing but NULL, on question "
            f"{join(list(dict.fromkeys(empty)))}: a verdict there proves little."
        )
    judged = [(t.key.question_id, t.verdict) for t in trials if t.verdict is not None]
    several = dict.fromkeys(name for name, verdict in judged if verdict.gold_nondeterministic)
    if several:
        yield (
            f"Gold's own result is one of several right ones on {plural(len(several), 'question')} "
            f"({join(list(several))}): a verdict of wrong may be unjust there. gold.jsonl says why."
        )


def _skipped(trials: Sequence[Trial]) -> Iterable[str]:
    skipped = [trial.key.question_id for trial in trials if trial.status == "skipped"]
    if skipped:
        yield (
            f"{plural(len(skipped), 'trial')} not run, on question "
            f"{join(list(dict.fromkeys(skipped)))}: the query passed its time limit at a smaller "
            "scale factor, and is taken, and charged, to do so here."
        )


def _timings(trials: Sequence[Trial]) -> Iterable[str]:
    timed = [trial.timing for trial in trials if trial.timing is not None]
    wide = sum(timing.spread > _WIDE for timing in timed)
    if wide and wide >= _OFTEN * len(timed):
        yield (
            f"{wide:,} of {plural(len(timed), 'timing')} lie apart by more than half of their "
            "median: VES and VES* rest on times that this machine does not repeat. A quieter "
            "machine, more data or more --repeats help."
        )
    retried = [trial.retry_s for trial in trials if trial.retries]
    if retried:
        yield (
            f"{plural(len(retried), 'trial')} waited for the model's provider, {sum(retried):,.0f} "
            "s in all, which T_e2e includes."
        )


def _few(source: ReportInput) -> Iterable[str]:
    if source.trials and source.replicas < FEW_REPLICAS:
        yield (
            f"With {plural(source.replicas, 'replica')} of each question, small differences may "
            "be chance."
        )
