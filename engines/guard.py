"""The read-only guard: reads every statement before an engine does, and admits only queries.

It is the first fence, not the only one: each engine also opens its data so that writing fails.
A statement is read twice, by the engine's own lexical rules and by sqlglot, and what the two do
not divide alike is not admitted. What is called is judged by the lexemes, which no parser can
rename; what kind of statement it is, by sqlglot's tree.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bothends.engines.guard_rules import (
    denied_column,
    denied_function,
    denied_relation,
    names_a_file,
    replaced_text,
)
from bothends.engines.lexemes import Lexeme, UnreadableError, divided_alike, read

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Rejection", "check_read_only"]

# sqlglot warns of each statement that it keeps as opaque text; here that is a rejection already.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

_SQL_ONLY: Final = "Write one SELECT statement (WITH, VALUES and set operations are fine)."
_NAME_CHARACTERS: Final = 200
_FIRST_WORDS: Final = frozenset({"SELECT", "WITH", "VALUES", "FROM"})
_WRITE_WORD: Final = re.compile(
    "alter|analyze|attach|cache|call|copy|create|delete|detach|do|drop|execute|grant|insert|into|"
    "load|lock|merge|msck|overwrite|pragma|refresh|reindex|revoke|set|transform|truncate|update|"
    "vacuum",
    re.IGNORECASE,
)

# One SELECT in plain characters, without comments, brackets or backticks: no two readers can
# divide it differently. Each alternative begins otherwise, so that matching takes linear time.
_PLAIN: Final = re.compile(
    r"\s*+(?:SELECT|WITH)\b"
    r"(?:[^\x00-\x08\x0b\x0e-\x1f\x7f'\"`\[;/-]++|'(?:[^'\x00]|'')*+'|\"[^\"\x00]*+\"|-(?!-)|/(?!\*))*+"
    r";?\s*+",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"\w+")
_PLAIN_PARENTHESES: Final = 100


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a statement was not admitted.

    Attributes:
        reason: A sentence or two that a model can act on.
    """

    reason: str


def check_read_only(sql: str, dialect: str) -> Rejection | None:
    """Decide whether a statement may reach an engine.

    Exactly one statement is admitted, and only a query with nothing in it that writes, locks,
    runs a program, opens a file by path, or calls a function with such effects. A statement that
    sqlglot cannot parse is judged by its lexemes alone: if they still look like a lone query it
    is admitted, because the engine's own syntax error is the better observation.

    Args:
        sql: The statement.
        dialect: Its dialect: `sqlite`, `postgres` or `spark`.

    Returns:
        The rejection, or None if the statement is admitted.
    """
    # Most of what is scored is as plain as that, and read ten times as fast.
    if dialect == "sqlite" and _is_plain_query(sql):
        return None
    import sqlglot
    from sqlglot.errors import ParseError, SqlglotError

    if replaced := replaced_text(sql, dialect):
        return Rejection(
            f"{replaced[:_NAME_CHARACTERS]} is not allowed: Spark would replace it with a setting "
            "of its own. Write what is meant."
        )
    try:
        lexemes = read(sql, dialect)
        if not divided_alike(sql, lexemes, sqlglot.tokenize(sql, dialect=dialect)):
            return Rejection(f"Its quotes or comments can be read in two ways. {_SQL_ONLY}")
    except UnreadableError as error:
        return Rejection(f"The statement cannot be read: there is {error}. {_SQL_ONLY}")
    except SqlglotError as error:
        return Rejection(f"The statement cannot be read: {str(error).splitlines()[0]}. {_SQL_ONLY}")
    rejection = _check_lexemes(lexemes, dialect)
    if rejection is not None:
        return rejection
    try:
        parsed = sqlglot.parse(sql, dialect=dialect)
    except ParseError:
        return _check_unparsed(lexemes, dialect)
    except RecursionError:
        return Rejection("The statement is nested too deeply. Write a flatter query.")
    # After the last semicolon there may be a comment, which sqlglot keeps as a statement.
    return next((_check_tree(each, dialect) for each in parsed if each is not None), None)


def _is_plain_query(sql: str) -> bool:
    """Whether a SQLite statement is a query beyond doubt, by its characters and words alone."""
    if sql.count("(") > _PLAIN_PARENTHESES or not _PLAIN.fullmatch(sql):
        return False
    # None of its words, were it in a string or a name, may be one that makes it anything else.
    return not any(
        _WRITE_WORD.fullmatch(word)
        or denied_function(word, "sqlite")
        or denied_relation(word, "sqlite")
        for word in set(_WORDS.findall(sql))
    )


def _check_lexemes(lexemes: Sequence[Lexeme], dialect: str) -> Rejection | None:
    ends = [index for index, each in enumerate(lexemes) if each.raw == ";"]
    body = lexemes[: ends[0]] if ends else lexemes
    if any(each.raw != ";" for each in lexemes[len(body) :]):
        return Rejection(f"There are several statements, only one is run. {_SQL_ONLY}")
    if not body:
        return Rejection(f"There is no statement. {_SQL_ONLY}")
    first = next((each for each in body if each.raw != "("), body[0])
    if first.keyword not in _FIRST_WORDS:
        return _not_a_query(first.keyword)
    in_value, last = False, ""
    for each, following in pairwise(body):
        if following.raw == "(" and denied_function(each.identifier, dialect):
            return _forbidden(each.identifier)
        if each.keyword == "USING" and following.kind == "string":
            return Rejection("USING with a command runs a program, which is not allowed.")
        # In Spark, options of a relation can name another path.
        if each.keyword == "WITH" and following.raw == "(":
            return Rejection("A table takes no WITH (...) options here. Leave them out.")
        # A name after brackets can only be a column, or a call of a function.
        in_value = each.raw in {")", "]"} or (in_value and (each.raw == "." or last == "."))
        if in_value and each.raw == "." and denied_column(following.identifier, dialect):
            return _forbidden(following.identifier)
        last = each.raw
        # sqlglot takes what stands in these parentheses for a column, Spark for a table.
        if each.keyword in {"TABLE", "STREAM"} and following.raw == "(":
            return Rejection(f"{each.keyword} (...) is not allowed. Name the table in FROM.")
    return None


def _check_tree(statement: exp.Expr, dialect: str) -> Rejection | None:
    from sqlglot import exp

    if isinstance(statement, exp.Semicolon):
        return None
    if not isinstance(statement, (exp.Query, exp.Values)):
        return _not_a_query(statement.key.upper())
    writing = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.LoadData, exp.Command)
    for node in statement.walk():
        if isinstance(node, exp.CTE) and not isinstance(node.this, (exp.Query, exp.Values)):
            return _not_a_query(node.this.key.upper())
        if isinstance(node, writing) and not isinstance(node, exp.Query):
            return _not_a_query(node.key.upper())
        if isinstance(node, exp.Into):
            return Rejection("SELECT INTO writes a table, and this database is read-only.")
        if isinstance(node, exp.Lock):
            return Rejection("FOR UPDATE and FOR SHARE lock rows. Leave the locking clause out.")
        if isinstance(node, exp.QueryTransform):
            return Rejection("TRANSFORM ... USING runs a program, which is not allowed.")
        qualified = isinstance(node, exp.Dot) or (isinstance(node, exp.Column) and node.table)
        if qualified and denied_column(node.name, dialect):
            return _forbidden(node.name)
        if isinstance(node, exp.Table):
            rejection = _check_relation(tuple(part.name for part in node.parts), dialect)
            if rejection is not None:
                return rejection
    return None


def _check_unparsed(lexemes: Sequence[Lexeme], dialect: str) -> Rejection | None:
    # Its tree is not known, so a write word counts wherever it stands unquoted, and every name
    # could be a relation's.
    for each in lexemes:
        if _WRITE_WORD.fullmatch(each.keyword):
            return _not_a_query(each.keyword)
    names = list(_qualified_names(lexemes))
    for parts in names:
        if len(parts) > 1 and denied_column(parts[-1], dialect):
            return _forbidden(parts[-1])
    return next(filter(None, (_check_relation(parts, dialect) for parts in names)), None)


def _qualified_names(lexemes: Sequence[Lexeme]) -> Iterator[tuple[str, ...]]:
    """Yield the names in a statement, each as its parts between dots."""
    parts: list[str] = []
    dotted = False
    for each in lexemes:
        if parts and not dotted and each.raw != ".":
            yield tuple(parts)
            parts = []
        dotted = each.raw == "."
        if each.identifier:
            parts.append(each.identifier)
    yield tuple(parts)


def _check_relation(parts: tuple[str, ...], dialect: str) -> Rejection | None:
    written = ".".join(parts)[:_NAME_CHARACTERS]
    if names_a_file(parts, dialect):
        return Rejection(f"{written} names a file, not a table. Query the tables of the catalog.")
    if parts and denied_relation(parts[-1], dialect):
        return Rejection(f"{written} is not open to queries. Query the tables of the catalog.")
    return None


def _forbidden(function: str) -> Rejection:
    return Rejection(
        f"The function {function[:_NAME_CHARACTERS]} is not allowed: it can reach outside the "
        "database or change something."
    )


def _not_a_query(what: str) -> Rejection:
    named = f"{what} is" if what else "This is"
    return Rejection(f"{named} not a query, and this database is read-only. {_SQL_ONLY}")
