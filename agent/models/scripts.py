"""The scripts: what a scripted model does with the gold that it is told.

Each calibrates the instrument: its verdict is known before it runs.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import traverse_scope

from bothends.infra.errors import UsageError

__all__ = ["SCRIPTS", "Script", "draw_script", "tables_of"]

_PERFECT_PLAN = ("list_tables", "get_schema", "check_query", "run_query")
_HESITATING_PLAN = (
    "list_tables",
    "get_schema",
    "get_schema",
    "check_query",
    "check_query",
    "run_query",
)


@dataclass(frozen=True, slots=True)
class Script:
    """A course of tool calls around one query.

    Attributes:
        description: What it does, as a clause that follows "A script, not a model:".
        expected: The status or verdict that it must get.
        query: Makes its query from the gold and the dialect.
        plan: The tools it calls, one a turn; then it answers in prose.
        endless: Whether it calls the last of them for ever instead.
        further: What it drafts after that query, in turn and then from the beginning, when a
            recipe without tools asks it again.
    """

    description: str
    expected: str
    query: Callable[[str, str], str]
    plan: tuple[str, ...] = _PERFECT_PLAN
    endless: bool = False
    further: tuple[Callable[[str, str], str], ...] = ()

    @property
    def queries(self) -> tuple[Callable[[str, str], str], ...]:
        """Everything that makes a query of its, the first one first."""
        return (self.query, *self.further)


def tables_of(gold: str, dialect: str) -> tuple[str, ...]:
    """Return the tables that a query reads, those of inner queries first, its CTEs left out."""
    sources = (
        source
        for scope in traverse_scope(_parse(gold, dialect))
        for source in scope.sources.values()
        if isinstance(source, exp.Table)
    )
    names = (".".join(part.name for part in table.parts) for table in sources)
    return tuple(dict.fromkeys(names))


def draw_script(seed: int, question_id: str, replica: int, p: float) -> str:
    """Draw what `flaky` plays in one trial; the same on every machine.

    Args:
        seed: The seed.
        question_id: The trial's question.
        replica: The trial's replica.
        p: The probability of `perfect`; the faulty scripts share the rest evenly.

    Returns:
        The name of a script.
    """
    digest = hashlib.sha256(f"{seed}\n{question_id}\n{replica}".encode()).digest()
    draw = random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311 - no secret hangs on it
    if draw.random() < p:
        return "perfect"
    return draw.choice(("missing_column", "wrong_rows", "failing"))


def _perfect(gold: str, _dialect: str) -> str:
    return gold


def _extra_column(gold: str, _dialect: str) -> str:
    return f"SELECT g.*, 'superfluous' AS superfluous\nFROM (\n{gold}\n) AS g"


def _missing_column(gold: str, dialect: str) -> str:
    query = normalize_identifiers(_parse(gold, dialect), dialect=dialect)
    if query.is_star:
        raise UsageError("the script missing_column needs a gold that names its columns, not *")
    if len(query.selects) == 1:
        return f"SELECT 'wrong' AS wrong\nFROM (\n{gold}\n) AS g"
    if not all(isinstance(column, exp.Alias | exp.Column) for column in query.selects):
        # What an engine calls an expression without an alias is its own affair: give it one.
        for position, column in enumerate(list(query.selects), start=1):
            if not isinstance(column, exp.Alias | exp.Column):
                column.replace(exp.alias_(column.copy(), f"column_{position}"))
        gold = query.sql(dialect)
    names = [column.output_name for column in query.selects]
    if len(set(names)) < len(names):
        raise UsageError("the script missing_column needs a gold whose column names differ")
    kept = (exp.to_identifier(name, quoted=True).sql(dialect) for name in names[:-1])
    return f"SELECT {', '.join(kept)}\nFROM (\n{gold}\n) AS g"


def _wrong_rows(gold: str, _dialect: str) -> str:
    # Joining one row to no row of gold gives NULLs of gold's own types.
    return f"""\
SELECT * FROM (
{gold}
) AS g
UNION ALL
SELECT e.* FROM (SELECT 1 AS one) AS o
LEFT JOIN (SELECT * FROM (
{gold}
) AS g WHERE 1 = 0) AS e ON 1 = 1"""  # noqa: S608 - gold is the suite's own, and the guard reads it


def _failing(gold: str, _dialect: str) -> str:
    return f"SELECT g.no_such_column\nFROM (\n{gold}\n) AS g"


def _parse(sql: str, dialect: str) -> exp.Query:
    return cast(exp.Query, sqlglot.parse_one(sql, dialect=dialect))


SCRIPTS: Mapping[str, Script] = {
    "perfect": Script("runs the gold SQL through the real agent", "exact", _perfect),
    "extra_column": Script(
        "runs gold with a superfluous column", "class C: focus, not exact", _extra_column
    ),
    "missing_column": Script(
        "runs gold without its last column, or with a constant in place of its only one",
        "class B, or D where gold has one column",
        _missing_column,
    ),
    "wrong_rows": Script("runs gold with a row of NULLs added", "class A", _wrong_rows),
    "failing": Script("asks for a column that does not exist", "status failed", _failing),
    "no_query": Script(
        "reads the schema, then answers in prose",
        "status no_query",
        _perfect,
        ("list_tables", "get_schema"),
    ),
    "gives_up": Script(
        "lists the tables for ever", "status gave_up", _perfect, ("list_tables",), endless=True
    ),
    "hesitating": Script(
        "reads the schema twice and checks twice before it runs the gold SQL",
        "exact",
        _perfect,
        _HESITATING_PLAN,
    ),
    "corrected": Script(
        "asks for a column that does not exist, and runs the gold SQL when it is asked again",
        "exact in single+correct, status failed in react and single",
        _failing,
        further=(_perfect,),
    ),
    "split": Script(
        "of five drafts, two are the gold SQL and three are wrong in three ways, the first among "
        "them",
        "exact in self-consistency with 5 samples, class A in react and single",
        _wrong_rows,
        further=(_perfect, _failing, _extra_column, _perfect),
    ),
    "flaky": Script(
        "perfect with probability {p}, else missing_column, wrong_rows or failing",
        "valid in a share of p of the trials",
        _perfect,
    ),
}
"""Every script by its name; `flaky` plays the one that `draw_script` draws."""
