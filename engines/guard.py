"""The read-only guard: reads every statement before an engine does, and admits only queries.

It is the first fence, not the only one: each engine also opens its data so that writing fails.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlglot import Token, exp

__all__ = ["Rejection", "check_read_only"]

# sqlglot warns of each statement that it keeps as opaque text; here that is a rejection already.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

_SQL_ONLY: Final = "Write one SELECT statement (WITH, VALUES and set operations are fine)."

# Functions that run code, touch files or load libraries, in whichever engine has them.
_DENIED_FUNCTION: Final = re.compile(
    "identifier|java_method|reflect|try_reflect|read_files|load_extension|readfile|writefile|edit|"
    "fts3_tokenizer|pg_read_file|pg_read_binary_file|pg_ls_\\w+|pg_stat_file|lo_import|lo_export|"
    "dblink\\w*|query_to_xml\\w*|set_config|pg_terminate_backend|pg_cancel_backend|pg_reload_conf",
    re.IGNORECASE,
)
# In Spark, parquet.`/path` reads a file.
_FILE_FORMAT: Final = re.compile(
    "avro|binaryfile|csv|delta|hudi|iceberg|image|json|libsvm|orc|parquet|text|xml", re.IGNORECASE
)
_WRITE_WORD: Final = re.compile(
    "alter|analyze|attach|cache|call|copy|create|delete|detach|drop|execute|grant|insert|into|load|"
    "merge|msck|overwrite|pragma|refresh|reindex|revoke|set|transform|truncate|update|vacuum",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a statement was not admitted.

    Attributes:
        reason: A sentence or two that a model can act on.
    """

    reason: str


def check_read_only(sql: str, dialect: str) -> Rejection | None:
    """Decide whether a statement may reach an engine.

    Exactly one statement is admitted, and only a query with nothing in its tree that writes,
    locks, runs a program or opens a file by path. A statement that sqlglot cannot parse is judged
    by its tokens: if they still look like a lone query it is admitted, because the engine's own
    syntax error is the better observation.

    Args:
        sql: The statement.
        dialect: Its sqlglot dialect.

    Returns:
        The rejection, or None if the statement is admitted.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ParseError, SqlglotError

    try:
        parsed = sqlglot.parse(sql, dialect=dialect)
    except ParseError:
        return _check_tokens(sqlglot.tokenize(sql, dialect=dialect))
    except SqlglotError as error:
        return Rejection(f"The statement cannot be read: {str(error).splitlines()[0]}. {_SQL_ONLY}")
    except RecursionError:
        return Rejection("The statement is nested too deeply. Write a flatter query.")
    statements = [
        each for each in parsed if each is not None and not isinstance(each, exp.Semicolon)
    ]
    if not statements:
        return Rejection(f"There is no statement. {_SQL_ONLY}")
    if len(statements) > 1:
        return Rejection(f"There are {len(statements)} statements, only one is run. {_SQL_ONLY}")
    if not isinstance(statements[0], (exp.Query, exp.Values)):
        return _not_a_query(_first_word(sqlglot.tokenize(sql, dialect=dialect)))
    return _check_tree(statements[0])


def _check_tree(statement: exp.Expr) -> Rejection | None:
    from sqlglot import exp

    writing = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.LoadData, exp.Command)
    for node in statement.walk():
        if isinstance(node, writing):
            return _not_a_query(node.key.upper())
        if isinstance(node, exp.Into):
            return Rejection("SELECT INTO writes a table, and this database is read-only.")
        if isinstance(node, exp.Lock):
            return Rejection("FOR UPDATE and FOR SHARE lock rows. Leave the locking clause out.")
        if isinstance(node, exp.QueryTransform):
            return Rejection("TRANSFORM ... USING runs a program, which is not allowed.")
        if isinstance(node, exp.Func) and _DENIED_FUNCTION.fullmatch(_function_name(node)):
            return _denied_function(_function_name(node))
        if isinstance(node, exp.Table) and _is_file(node):
            return Rejection(
                f"{node.sql()} names a file, not a table. Query the tables of the catalog."
            )
    return None


def _check_tokens(tokens: Sequence[Token]) -> Rejection | None:
    from sqlglot.tokenizer_core import TokenType

    quoted = {TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING}
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens = tokens[:-1]
    words = [
        "" if token.token_type in quoted | {TokenType.IDENTIFIER} else token.text.upper()
        for token in tokens
    ]
    first = _first_word(tokens)
    if first not in {"SELECT", "WITH", "VALUES"}:
        return _not_a_query(first)
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        return Rejection(f"There are several statements, only one is run. {_SQL_ONLY}")
    # Its tree is not known, so a write word counts wherever it stands unquoted.
    for index, (word, token) in enumerate(zip(words, tokens, strict=True)):
        if _WRITE_WORD.fullmatch(word):
            return _not_a_query(word)
        following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        if _DENIED_FUNCTION.fullmatch(token.text) and following is TokenType.L_PAREN:
            return _denied_function(token.text.lower())
        if word == "USING" and following in quoted:
            return Rejection("USING with a command runs a program, which is not allowed.")
        if _FILE_FORMAT.fullmatch(token.text) and following is TokenType.DOT:
            return Rejection(
                f"{token.text}.`...` names a file, not a table. Query the tables of the catalog."
            )
    return None


def _is_file(table: exp.Table) -> bool:
    parts = [part.name for part in table.parts]
    return bool(table.db) and (
        any(_FILE_FORMAT.fullmatch(part) for part in parts[:-1])
        or any("/" in part for part in parts)
    )


def _function_name(function: exp.Func) -> str:
    from sqlglot import exp

    # An unknown function keeps the name that was written, perhaps quoted; a known one its own.
    return (function.name if isinstance(function, exp.Anonymous) else function.sql_name()).lower()


def _first_word(tokens: Sequence[Token]) -> str:
    return next((token.text.upper() for token in tokens if token.text != "("), "")


def _denied_function(name: str) -> Rejection:
    return Rejection(f"The function {name} is not allowed: it can reach outside the database.")


def _not_a_query(what: str) -> Rejection:
    named = f"{what} is" if what else "This is"
    return Rejection(f"{named} not a query, and this database is read-only. {_SQL_ONLY}")
