"""Finding the SQL in what a model wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from bothends.agent.objects import objects_in
from bothends.engines.lexemes import UnreadableError, scan

__all__ = ["extract_sql"]

_TAG = r"(?:think|thinking|thought|reasoning)"
_THOUGHT = re.compile(rf"<{_TAG}>.*?(?:</{_TAG}>|\Z)", re.DOTALL | re.IGNORECASE)
_REST_OF_THOUGHT = re.compile(rf"\A.*</{_TAG}>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"`{3,}|~{3,}")
_LANGUAGE = re.compile(r"[ \t]*([A-Za-z][\w+#.-]*)?[ \t]*(\n?)")
_LANGUAGES = re.compile(
    r"(?:spark|pl|p|t|my|ansi)?[-_]?sql|spark|sqlite3?|postgres(?:ql)?|pgsql|hive(?:ql)?|json|"
    r"te?xt|plaintext|code|query",
    re.I,
)
_BLANK = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)"
_BEGINNING = re.compile(
    rf"{_BLANK}*+(?:\({_BLANK}*+)*+(?:(SELECT|WITH|VALUES|FROM)|[A-Z]+)\b", re.I | re.DOTALL
)
_WRITE = re.compile(
    rf"{_BLANK}*+(?:INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|MERGE|TRUNCATE|REPLACE|EXPLAIN)\b",
    re.I | re.DOTALL,
)
# Where a statement may begin among other text: on a line or in a list, or behind a label's colon.
_CANDIDATE = re.compile(
    r"(?:^[ \t]*(?:(?:[*>-]|\d+[.)])[ \t])?|:\**|</\w+>)[ \t]*"
    r"(?P<sql>(?:--[^\n]*\n\s*|/\*(?:(?!\*/).)*\*/\s*){0,50}\(*\s*(?:SELECT|WITH)\b)",
    re.I | re.M | re.S,
)
# What small models close their replies with, and what some put around the query.
_TAGS = re.compile(r"<\|\w+\|>|</?(?:s|sql|query|answer|final_answer)>", re.I)
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)\s*((?:SELECT|WITH)\b.*?)(?<!`)\1(?!`)", re.I | re.S)
_COMMON_TABLE = re.compile(
    r"WITH\s+(?:RECURSIVE\s+)?(?:\w+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\])\s*(?:\([^)]*\)\s*)?"
    r"AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\(",
    re.I,
)
# "Select the rows", "SELECT statements": what follows the word in prose, where a name and an
# alias without AS would stand in SQL.
_PROSE_OBJECT = re.compile(
    r"(?:the|an?|all|any|each|every|only|those|these|which|what|some|one|its|their|this|that|your|"
    r"and|or|statements?|clauses?|quer(?:y|ies))\s+(?!(?:from|as)\b)[a-z_]",
    re.I,
)
# A line that begins as a sentence does, and not as a clause: "This returns", "Explanation:".
_SENTENCE = re.compile(
    r"(?!(?:Select|From|Where|Group|Having|Order|Limit|Offset|Union|Intersect|Except|Join|Left|"
    r"Right|Full|Inner|Cross|Natural|On|Using|And|Or|Not|As|When|Then|Else|End|With|Case|Window|"
    r"Is|In)\b)"
    r"(?:[A-Z][a-z]*(?:['\u2019][a-z]+)?,? "
    r"(?!(?:as|asc|desc|is null|is not|in|like|between|and|or|not|from)\b)[a-z]|"
    r"[A-Z][a-z]+(?: [a-z]+)*:(?!:)|\#+ |\*\*|</?\w+>)"
)
_LONGEST_BEGINNING = 5_000
# A model that repeats itself writes thousands of what is no statement: these are looked at whole.
_MOST_LOOKED_AT = 20
_KEYS = ("sql", "query", "sql_query", "statement", "answer")


class _Found(NamedTuple):
    """A statement and where it begins in the text that it was found in."""

    at: int
    sql: str


def extract_sql(text: str, dialect: str = "sqlite") -> str | None:
    """Return the statement in a reply.

    It is that of the last fenced block that holds a query; else, of the last block that holds
    another statement, which the guard will reject; else the first query outside of all blocks: on
    a line of its own, behind a label (`SQL: ...`), in inline code, or in a JSON object under `sql`
    or `query`. What stands inside prose is none, and what a model thinks aloud in `<think>` tags is
    passed over. `VALUES`, and Spark's queries that begin with `FROM`, are found in blocks only.

    Args:
        text: The reply's text.
        dialect: The dialect by whose quotes and comments a statement's end is found.

    Returns:
        The statement, without its closing semicolon and what follows; None where there is none.
    """
    said = _REST_OF_THOUGHT.sub("", _THOUGHT.sub("\n", text))
    blocks, outside = _blocks(said)
    for block in reversed(blocks):
        if found := _in_block(block, dialect):
            return found
    for block in reversed(blocks):
        if _WRITE.match(block):
            return _whole(block, dialect) or None
    return _in_prose(outside, dialect)


def _blocks(text: str) -> tuple[list[str], str]:
    """Return the fenced blocks that may hold SQL, and the text without any block."""
    blocks: list[str] = []
    outside: list[str] = []
    position = 0
    while fence := _FENCE.search(text, position):
        outside.append(text[position : fence.start()])
        closing = re.compile(f"{fence[0][0]}{{{len(fence[0])},}}").search(text, fence.end())
        end, position = (closing.start(), closing.end()) if closing else (len(text), len(text))
        body = text[fence.end() : end]
        language = _LANGUAGE.match(body)
        named = (language[1] or "") if language else ""
        if language and _LANGUAGES.fullmatch(named):
            blocks.append(body[language.end() :])
        elif not named or not (language and language[2]):
            blocks.append(body)
    return blocks, "\n".join([*outside, text[position:]])


def _in_block(block: str, dialect: str) -> str | None:
    """Return the query in a fenced block: what it begins with, else what is in it as in prose."""
    beginning = _BEGINNING.match(block)
    word = (beginning[1] or "").upper() if beginning else ""
    first_from = word == "FROM" and re.search(r"\bSELECT\b", block, re.I)
    if word in {"SELECT", "WITH", "VALUES"} or first_from:
        return _whole(block, dialect) or None
    return _in_prose(block, dialect)


def _whole(block: str, dialect: str) -> str:
    """Return the statement that a block begins with; a blank line and a sentence may follow it."""
    return _until_end(block, dialect, sentence_after=r"\n[ \t]*\n\s*").strip()


def _in_prose(text: str, dialect: str) -> str | None:
    """Return the first query in a text of other things."""
    text = _TAGS.sub("\n", text)
    found = [*_in_json(text), *_in_code(text, dialect), *_on_lines(text, dialect)]
    return min(found).sql if found else None


def _in_json(text: str) -> Iterator[_Found]:
    """Yield the queries that JSON objects hold."""
    for position, value in objects_in(text):
        for sql in _strings(value):
            beginning = _BEGINNING.match(sql)
            if beginning and beginning[1]:
                yield _Found(position, sql.strip().rstrip(";").strip())


def _strings(value: Any) -> Iterator[str]:
    """Yield what stands under the keys that SQL is given by, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        spelt = {key.lower(): item for key, item in value.items()}
        yield from (spelt[key] for key in _KEYS if isinstance(spelt.get(key), str))
        for item in value.values():
            yield from _strings(item)


def _in_code(text: str, dialect: str) -> Iterator[_Found]:
    """Yield the queries in inline code."""
    for code in _INLINE.finditer(text):
        sql = _until_end(code[2], dialect, None).strip()
        if _reads_as_query(sql, dialect):
            yield _Found(code.start(), sql)


def _on_lines(text: str, dialect: str) -> Iterator[_Found]:
    """Yield the first query that begins a line, or follows a label."""
    looked_at = 0
    for candidate in _CANDIDATE.finditer(text):
        start = candidate.start("sql")
        if _is_prose(text[start : start + _LONGEST_BEGINNING]):
            continue
        sql = _until_end(text[start:], dialect, sentence_after=r"\n\s*").strip()
        if _reads_as_query(sql, dialect):
            yield _Found(start, sql)
            return
        looked_at += 1
        if looked_at == _MOST_LOOKED_AT:
            return


def _is_prose(sql: str) -> bool:
    """Whether SELECT or WITH, which this begins with, begins a sentence and no query."""
    bare = re.sub(rf"\A(?:{_BLANK}|\()*+", "", sql, flags=re.DOTALL)
    if bare[:4].upper() == "WITH":
        return _COMMON_TABLE.match(bare) is None
    rest = re.sub(rf"\ASELECT{_BLANK}*+", "", bare, flags=re.I | re.DOTALL)
    return _PROSE_OBJECT.match(rest) is not None


def _reads_as_query(sql: str, dialect: str) -> bool:
    """Whether what begins with SELECT or WITH is SQL, right or wrong."""
    if _is_prose(sql):
        return False
    if re.search(r"\bFROM\b", sql, re.I) and not sql.endswith("."):
        return True
    return _parses(sql, dialect)


def _parses(sql: str, dialect: str) -> bool:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return len(sqlglot.parse(sql, dialect=dialect)) == 1
    except (SqlglotError, RecursionError):
        return False


def _until_end(sql: str, dialect: str, sentence_after: str | None) -> str:
    """Return a text up to its first semicolon, or up to a sentence behind a break of lines.

    Args:
        sql: What begins with a statement.
        dialect: Its dialect; semicolons and sentences in strings and comments are part of it.
        sentence_after: What stands before a sentence that is no part of it; None for no sentence.
    """
    begun = False
    try:
        for lexeme in scan(sql, dialect):
            if lexeme.kind != "blank":
                if lexeme.raw == ";":
                    return sql[: lexeme.start]
                begun = True
            elif begun and sentence_after and "\n" in lexeme.raw and lexeme.raw.isspace():
                end = lexeme.start + len(lexeme.raw)
                if re.fullmatch(sentence_after, lexeme.raw) and _SENTENCE.match(sql, end):
                    return sql[: lexeme.start]
    except UnreadableError:
        pass  # a quote that is not closed: the rest is the statement's, which the engine refuses
    return sql
