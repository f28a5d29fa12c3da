"""Whether gold's result is the only right one: checked on the engine, where its SQL allows others.

A LIMIT that cuts through rows tied on the sort keys, or that has no ORDER BY, lets an engine choose
what it returns; so do row numbers among ties, aggregates whose order nobody gave, and random(). A
prediction that differs from such a gold may be as right as gold is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bothends.engines import Engine, Limits, Outcome
from bothends.engines.cells import normalise
from bothends.eval.compare import judge
from bothends.eval.ordering import key_position
from bothends.infra.errors import UnjudgedError, UsageError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Soundness", "check_gold"]

_SUSPECT: Final = re.compile(
    r"limit|offset|fetch|over|rand|uuid|now|current_|group_concat|_agg|collect_|first|last|any_value",
    re.IGNORECASE,
)
_UNSTABLE: Final = re.compile(
    r"\b(random|rand|randn|randomblob|uuid|gen_random_uuid|clock_timestamp|now|current_timestamp|"
    r"any_value|first|group_concat|array_agg|string_agg|json_agg|json_group_array|collect_list|"
    r"collect_set)\s*\(|'now'",
    re.IGNORECASE,
)
_TIES_WINDOW: Final = 1_000


@dataclass(frozen=True, slots=True)
class Soundness:
    """What was found of gold.

    Attributes:
        deterministic: True where its SQL and the data allow one result alone; False where another
            was shown to be right as well; None where neither was shown.
        reason: What was found, in a sentence; empty where nothing in its SQL leaves a choice.
    """

    deterministic: bool | None
    reason: str = ""


def check_gold(engine: Engine, sql: str, outcome: Outcome, limits: Limits) -> Soundness:
    """Check whether gold's result is the only one that its SQL allows on this data.

    Nothing is executed where the SQL leaves no choice or its LIMIT was not reached. Otherwise each
    LIMIT costs one execution, without it but for a thousand more rows and with the sort keys as
    columns: the rows on both sides of the cut show whether it goes through a tie of different
    rows. Where that LIMIT is a subquery's, gold is executed with the tie broken one way and the
    other, and only another result counts. Row numbers and the like, unordered aggregates and
    random functions are executed once more, ties among rows broken at random; that can show that
    gold has several results, never that it has one.

    Args:
        engine: The engine on which gold was executed.
        sql: Gold.
        outcome: What it returned; `ok`.
        limits: Time and rows of one query.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    if not _SUSPECT.search(sql):
        return Soundness(True)
    try:
        query = sqlglot.parse_one(sql, read=engine.dialect)
    except SqlglotError:
        return Soundness(None, "its SQL could not be read")
    found = [Soundness(True)]
    for each in _checks(engine, query, outcome, limits):
        if each.deterministic is False:
            return each
        found.append(each)
    open_ones = [each for each in found if each.deterministic is None]
    return (open_ones or found)[0]


def _checks(
    engine: Engine, query: exp.Expr, outcome: Outcome, limits: Limits
) -> Iterator[Soundness]:
    from sqlglot import exp

    top = query
    while isinstance(top, exp.Subquery) and not _cut(top):
        top = top.this
    for block in list(query.find_all(exp.Query)):
        if _cut(block) and not isinstance(block.parent, exp.Exists):
            yield _check_cut(engine, query, block, block is top, outcome, limits)
    shaken, windows = _shaken(query, engine.dialect)
    unstable = _UNSTABLE.search(query.sql(dialect=engine.dialect))
    if windows or unstable:
        why = windows[0] if windows else unstable[0].strip("(") if unstable else ""
        again = engine.execute(shaken.sql(dialect=engine.dialect), limits)
        if _differs(outcome, again):
            yield Soundness(False, f"{why} leaves a choice: a second execution differed")
        else:
            yield Soundness(None, f"{why} may leave a choice: a second execution did not differ")


def _cut(block: exp.Expr) -> bool:
    return any(block.args.get(each) for each in ("limit", "offset"))


def _check_cut(
    engine: Engine,
    query: exp.Expr,
    block: exp.Expr,
    top: bool,
    outcome: Outcome,
    limits: Limits,
) -> Soundness:
    kept, skipped = _count(block, "limit"), _count(block, "offset")
    if kept is None or skipped is None:
        return Soundness(None, "its LIMIT is not a plain number")
    if top and not skipped and outcome.row_count is not None and outcome.row_count < kept:
        return Soundness(True)
    names = outcome.columns if top else tuple(getattr(block, "named_selects", ()))
    built = _probe(query, block, names, skipped + kept + _TIES_WINDOW)
    if built is None:
        return Soundness(None, "the sort keys of its LIMIT cannot be selected beside its columns")
    probe, keys = built
    result = engine.execute(probe.sql(dialect=engine.dialect), limits)
    if result.status != "ok" or not result.whole:
        told = result.error or "too many rows"
        return Soundness(None, f"its LIMIT could not be checked: {told}")
    added = sum(key < 0 for key in keys)
    width = len(result.columns) - added
    found = Soundness(True)
    for cut in (skipped, skipped + kept):
        tied = _tied(result.rows, keys, cut)
        whole = not tied or tied[1] < len(result.rows) or tied[1] < skipped + kept + _TIES_WINDOW
        rows = {tuple(map(normalise, row[:width])) for row in result.rows[slice(*(tied or (0, 0)))]}
        if len(rows) > 1 and tied is not None:
            what = f"{tied[1] - tied[0]:,}{'' if whole else ' or more'} rows that are tied"
            ordered = "ORDER BY" if block.args.get("order") else "no ORDER BY"
            reason = f"the cut after row {cut:,} goes through {what} ({ordered})"
            return (
                Soundness(False, reason)
                if top
                else _check_nested(engine, query, block, width, outcome, limits, reason)
            )
        if not whole:
            found = Soundness(None, "more rows are tied at its LIMIT than were looked at")
    return found


def _check_nested(
    engine: Engine,
    query: exp.Expr,
    block: exp.Expr,
    width: int,
    outcome: Outcome,
    limits: Limits,
    reason: str,
) -> Soundness:
    """Break the ties of a subquery's LIMIT both ways and look whether gold's result changes."""
    from sqlglot import exp

    order = block.args.get("order")
    before = order.expressions if order is not None else []
    for descending in (False, True):
        breakers = [
            exp.Ordered(this=exp.Literal.number(place), desc=descending)
            for place in range(1, width + 1)
        ]
        changed = block.copy()
        changed.set("order", exp.Order(expressions=[*(key.copy() for key in before), *breakers]))
        sql = _replaced(query, block, changed).sql(dialect=engine.dialect)
        if _differs(outcome, engine.execute(sql, limits)):
            return Soundness(
                False, f"in a subquery {reason}, and another choice changes the result"
            )
    return Soundness(None, f"in a subquery {reason}, which did not change the result")


def _replaced(query: exp.Expr, block: exp.Expr, by: exp.Expr) -> exp.Expr:
    place = [id(node) for node in query.walk()].index(id(block))
    copied = query.copy()
    list(copied.walk())[place].replace(by)
    return copied


def _probe(
    query: exp.Expr, block: exp.Expr, names: Sequence[str], rows: int
) -> tuple[exp.Expr, list[int]] | None:
    """Return a block that keeps more rows, and where its sort keys are among the columns.

    Keys that are not selected are added at the end, and have negative places.
    """
    from sqlglot import exp

    probe = block.copy()
    for clause in ("limit", "offset"):
        probe.set(clause, None)
    probe.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    for name in ("with_", "with"):
        if query is not block and query.args.get(name) and not probe.args.get(name):
            probe.set(name, query.args[name].copy())
    order = block.args.get("order")
    keys = [ordered.this for ordered in order.expressions] if order is not None else []
    places = [key_position(key, block, names) for key in keys]
    hidden = [key for key, place in zip(keys, places, strict=True) if place is None]
    plain = isinstance(probe, exp.Select) and not block.args.get("distinct")
    if (hidden and not plain) or any(key.find(exp.Collate) for key in keys):
        return None
    aliases = {item.alias.lower(): item.unalias() for item in getattr(block, "selects", ())}
    for number, key in enumerate(hidden):
        source = key.copy().transform(
            lambda node: (
                aliases[node.name.lower()].copy()
                if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases
                else node
            )
        )
        probe = probe.select(exp.alias_(source, f"bothends_key_{number}"))  # type: ignore[attr-defined]
    at_end = iter(range(-len(hidden), 0))
    return probe, [next(at_end) if place is None else place for place in places]


def _tied(rows: Sequence[tuple[Any, ...]], keys: Sequence[int], cut: int) -> tuple[int, int] | None:
    """Return where the rows begin and end that are tied across a cut."""
    if not 0 < cut < len(rows):
        return None
    last, first = ([normalise(rows[place][key]) for key in keys] for place in (cut - 1, cut))
    if last != first:
        return None
    start, end = cut - 1, cut + 1
    while start and [normalise(rows[start - 1][key]) for key in keys] == last:
        start -= 1
    while end < len(rows) and [normalise(rows[end][key]) for key in keys] == last:
        end += 1
    return start, end


def _count(block: exp.Expr, clause: str) -> int | None:
    """Return the number of a LIMIT, FETCH or OFFSET; 0 where there is none."""
    from sqlglot import exp

    node = block.args.get(clause)
    if node is None:
        return 0
    if isinstance(node, exp.Fetch):
        options = node.args.get("limit_options")
        number = (
            None if options is not None and options.args.get("with_ties") else node.args["count"]
        )
    else:
        number = node.expression
    return int(number.name) if isinstance(number, exp.Literal) and number.is_int else None


def _shaken(query: exp.Expr, dialect: str) -> tuple[exp.Expr, list[str]]:
    """Return the query with ties in its windows broken at random, and the functions concerned."""
    import sqlglot
    from sqlglot import exp

    ranks = (exp.RowNumber, exp.Ntile)
    by_row = (*ranks, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
    shaken = query.copy()
    names = []
    for window in shaken.find_all(exp.Window):
        spec = window.args.get("spec")
        framed = spec is not None and str(spec.args.get("kind", "")).upper() == "ROWS"
        if window.find(*by_row) or framed:
            names.append(f"{window.this.sql(dialect=dialect)} OVER (...)")
            call = "RAND()" if dialect == "spark" else "RANDOM()"
            random = exp.Ordered(this=sqlglot.parse_one(call, read=dialect))
            order = window.args.get("order")
            keys = order.expressions if order is not None else []
            window.set("order", exp.Order(expressions=[*keys, random]))
    return shaken, names


def _differs(outcome: Outcome, other: Outcome) -> bool:
    """Whether two whole results of gold are not the same."""
    if other.status != "ok":
        return False
    try:
        verdict = judge(outcome, other, gold_sql="", dialect="")
    except (UnjudgedError, UsageError):
        return False
    return not verdict.exact
