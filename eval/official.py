"""The numbers of the official evaluators of BIRD and Spider, for comparison with leaderboards.

EX by BIRD's rule is the verdict `bird_set`. Here are Spider's idea of the same query (exact match),
BIRD's R-VES and its Soft-F1. All are fractions, where a leaderboard multiplies by 100.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Any, Final

from bothends.eval.bird import frozen_row
from bothends.eval.record import Trial

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["exact_match", "r_ves_reward", "soft_f1", "trial_em", "trial_r_ves", "trial_soft_f1"]

_FEW: Final = 10
# Ratio of gold's seconds to the query's, from which on each reward is given.
_REWARDS: Final = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))
# Literals, and names that cannot be a keyword's or a function's.
_TELLING: Final = re.compile(
    r"'(?:[^']|'')*'|\b\d[\w.]*|\b(?!current_)[^\W\d]*[\d_]\w*\b(?!\s*\()", re.IGNORECASE
)


def exact_match(gold_sql: str, predicted_sql: str, dialect: str) -> bool:
    """Whether two texts are the same query, written alike but for what means nothing.

    Both are parsed by sqlglot, and equal if their trees are: layout, comments, letter case and
    quotes of names, a semicolon at the end, the words that may be left out (AS, INNER, OUTER,
    ASC), and what sqlglot reads as one (`<>` and `!=`, IFNULL and COALESCE) do not count. Aliases,
    the order of conditions and the like do. A text that cannot be parsed matches nothing.

    Args:
        gold_sql: Gold.
        predicted_sql: The query.
        dialect: The sqlglot dialect of both.
    """
    if gold_sql == predicted_sql:
        return True
    # Whatever else sqlglot makes of a query, it keeps these, and they tell most of them apart.
    if "--" not in gold_sql + predicted_sql and "/*" not in gold_sql + predicted_sql:
        telling = [_telling(sql) for sql in (gold_sql, predicted_sql)]
        if telling[0] != telling[1]:
            return False
    gold, predicted = _tree(gold_sql, dialect), _tree(predicted_sql, dialect)
    return gold is not None and gold == predicted


def _telling(sql: str) -> list[str]:
    return sorted(each if each[0] == "'" else each.lower() for each in _TELLING.findall(sql))


def _tree(sql: str, dialect: str) -> exp.Expr | None:
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    for node in tree.walk():
        if isinstance(node, exp.Identifier):
            node.set("this", node.name.lower())
            node.set("quoted", False)
        elif isinstance(node, exp.Join):
            if node.kind == "INNER" or (node.kind == "OUTER" and node.side):
                node.set("kind", None)
        elif isinstance(node, exp.Ordered) and not node.args.get("desc"):
            node.set("desc", None)
    return tree


def soft_f1(gold: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> float:
    """Return BIRD's Soft-F1 of a result, from 0 to 1.

    Rows are de-duplicated in the order in which they are first seen, and paired by position. For
    each pair, over the number of gold's columns: cells of the prediction that occur in gold's row
    (matched), those that do not, and cells of gold's row that do not occur in the prediction. A
    row without a counterpart counts 1 as missing or as superfluous. F1 is that of the three sums.
    So rows in another order can score 0 where EX by BIRD's rule is 1. Two empty results score 1.

    Args:
        gold: Gold's rows.
        predicted: The prediction's rows.
    """
    gold, predicted = _distinct(gold), _distinct(predicted)
    if gold == predicted:
        return 1.0
    matched = superfluous = missing = 0.0
    for i, right in enumerate(gold):
        if i >= len(predicted):
            missing += 1
            continue
        row = predicted[i]
        if row == right:
            matched += 1
            continue
        hits = misses = 0
        for cell in row:
            if cell in right:
                hits += 1
        for cell in right:
            if cell not in row:
                misses += 1
        matched += hits / len(right)
        superfluous += (len(row) - hits) / len(right)
        missing += misses / len(right)
    superfluous += max(0, len(predicted) - len(gold))
    precision = matched / (matched + superfluous) if matched + superfluous else 0.0
    recall = matched / (matched + missing) if matched + missing else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _distinct(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    try:
        return list(dict.fromkeys(map(tuple, rows)))
    except TypeError:  # an array, a struct or a map, which BIRD's engine has not
        return list(dict.fromkeys(map(frozen_row, rows)))


def r_ves_reward(gold_s: Sequence[float], generated_s: Sequence[float]) -> float:
    """Return BIRD's reward for the speed of a right query: 1.25, 1, 0.75, 0.5 or 0.25.

    Each repeat gives the ratio of gold's seconds to the query's. BIRD repeats 100 times, drops in
    one pass the ratios that lie three standard deviations or more from the mean, and takes the
    mean of the others. Up to 10 repeats no ratio can lie so far; there the median is taken, which
    one disturbed repeat does not move.

    Args:
        gold_s: Seconds of gold, repeat by repeat.
        generated_s: Seconds of the query; as many.
    """
    ratios = [gold / generated for gold, generated in zip(gold_s, generated_s, strict=True)]
    if len(ratios) <= _FEW:
        ratio = median(ratios)
    else:
        mean, sd = fmean(ratios), pstdev(ratios)
        ratio = fmean([each for each in ratios if abs(each - mean) < 3 * sd] or ratios)
    return next((reward for least, reward in _REWARDS if ratio >= least), 0.25)


def trial_em(trial: Trial) -> float | None:
    """Exact match of one trial; None where its query was not looked at."""
    if trial.exact_match is None:
        return 0.0 if trial.verdict is None else None
    return float(trial.exact_match)


def trial_soft_f1(trial: Trial) -> float | None:
    """Soft-F1 of one trial: 0 where its query did not execute, None where it is not known."""
    return 0.0 if trial.verdict is None else trial.soft_f1


def trial_r_ves(trial: Trial) -> float | None:
    """R-VES of one trial: the square root of BIRD's reward, 0 where BIRD's rule finds it wrong.

    None where it was not timed. A query that failed in a repeat gets nothing.
    """
    if trial.verdict is None or trial.verdict.bird_set is False:
        return 0.0
    timing = trial.timing
    if trial.verdict.bird_set is None or timing is None:
        return None
    if timing.generated_median_s is None or not all(timing.generated_s):
        return 0.0
    return math.sqrt(r_ves_reward(timing.gold_s, timing.generated_s))
