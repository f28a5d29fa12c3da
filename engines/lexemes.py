"""Reads SQL into lexemes by each engine's own lexical rules, apart from any parser.

A parser that ends a string or a comment elsewhere than the engine does can be made to see text
where the engine sees code. The guard therefore admits only what two readers divide alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, cast

if TYPE_CHECKING:
    from sqlglot import Token

__all__ = ["Lexeme", "UnreadableError", "divided_alike", "read", "scan", "without_semicolon"]

_Kind = Literal["blank", "string", "name", "word", "number", "symbol"]

_STRING: Final = r"'(?:[^']|'')*'"
_NAME: Final = r'"(?:[^"]|"")*"'
_BACKTICKED: Final = r"`(?:[^`]|``)*`"
_WORD: Final = r"[^\W\d][\w$]*"

# From each engine's own lexer: SQLite's tokenize.c, PostgreSQL's scan.l, Spark's SqlBaseLexer.g4.
# A block comment that nests is not regular, and is read apart. The order counts.
_LEXICONS: Final = {
    "sqlite": re.compile(
        rf"(?P<blank>[ \t\n\f\r]+|--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<string>{_STRING})"
        rf"|(?P<name>{_NAME}|{_BACKTICKED}|\[[^\]]*\])|(?P<word>{_WORD})",
        re.DOTALL,
    ),
    "postgres": re.compile(
        r"(?P<blank>[ \t\n\f\r\v]+|--[^\n\r]*)"
        rf"|(?P<string>[eE]'(?:[^'\\]|''|\\.)*'|[bBnNxX]?{_STRING})"
        rf"|(?P<bad>[uU]&['\"]|\$)|(?P<name>{_NAME})|(?P<word>{_WORD})",
        re.DOTALL,
    ),
    "spark": re.compile(
        # A hint is code to Spark: only one that holds plain words is read like a comment.
        r"(?P<blank>[ \t\n\f\r]+|--(?:\\\n|[^\r\n])*|/\*\+[\w\s(),.=]*\*/)"
        r"|(?P<bad>/\*\+|\$(?=\w*\$))"
        r"|(?P<string>[rR]'[^']*'|[rR]\"[^\"]*\"|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
        rf"|(?P<name>{_BACKTICKED})|(?P<word>{_WORD})",
        re.DOTALL,
    ),
}
_NUMBER: Final = re.compile(r"\d\w*")
_NESTING: Final = frozenset({"postgres", "spark"})
_COMMENT_EDGE: Final = re.compile(r"/\*|\*/")
_OPENING: Final = re.compile("['\"`\\[$]")


class UnreadableError(ValueError):
    """A text that the engine's lexical rules do not divide, or not beyond doubt."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One piece of a statement.

    Attributes:
        kind: `string`, `name` (a quoted identifier), `word`, `number`, `symbol` or `blank`
            (white space and comments).
        start: Where it begins.
        raw: Its characters.
    """

    kind: _Kind
    start: int
    raw: str

    @property
    def identifier(self) -> str:
        """What it names, in lower case; empty unless it is a word or a quoted identifier."""
        if self.kind == "name":
            quote = self.raw[-1]
            return self.raw[1:-1].replace(quote * 2, quote).lower()
        return self.raw.lower() if self.kind == "word" else ""

    @property
    def keyword(self) -> str:
        """The word in upper case; empty unless it is an unquoted word."""
        return self.raw.upper() if self.kind == "word" else ""


def read(sql: str, dialect: str) -> tuple[Lexeme, ...]:
    """Divide a statement into lexemes, blanks left out.

    Args:
        sql: The statement.
        dialect: `sqlite`, `postgres` or `spark`.

    Raises:
        UnreadableError: If a quote or a comment is not closed, or a way to write is used that
            only serves to hide something.
        KeyError: If the dialect's lexical rules are not known.
    """
    lexemes = tuple(lexeme for lexeme in scan(sql, dialect) if lexeme.kind != "blank")
    for earlier, later in pairwise(lexemes):
        # PostgreSQL may read the second as the first's continuation, with the first's escapes.
        if earlier.raw[:2] in {"E'", "e'"} and later.raw[0] == "'":
            raise UnreadableError(f"a string at character {later.start + 1} that goes on from E''")
    return lexemes


def without_semicolon(sql: str, dialect: str) -> str:
    """Return a statement without the semicolons at its end and what comments follow them.

    A text that cannot be read is returned as it is.
    """
    end = len(sql)
    try:
        for lexeme in reversed(read(sql, dialect)):
            if lexeme.raw != ";":
                break
            end = lexeme.start
    except UnreadableError:
        return sql
    return sql[:end]


def scan(sql: str, dialect: str) -> Iterator[Lexeme]:
    """Divide a text into lexemes, blanks among them, one after the other as they are asked for.

    Args:
        sql: The text.
        dialect: `sqlite`, `postgres` or `spark`.

    Raises:
        UnreadableError: At a quote or a comment that is not closed, or a way to write that only
            serves to hide something.
        KeyError: If the dialect's lexical rules are not known.
    """
    lexicon = _LEXICONS[dialect]
    position = 0
    while position < len(sql):
        match = lexicon.match(sql, position) or _NUMBER.match(sql, position)
        kind: _Kind
        if match is None:
            if dialect in _NESTING and sql.startswith("/*", position):
                kind, end = "blank", _end_of_comment(sql, position)
            elif sql[position] in "'\"`" or sql[position].isspace() or sql[position] < " ":
                raise UnreadableError(f"{sql[position]!r} at character {position + 1}")
            else:
                kind, end = "symbol", position + 1
        elif match.lastgroup == "bad":
            raise UnreadableError(f"{match[0]!r} at character {position + 1}")
        else:
            kind, end = cast(_Kind, match.lastgroup or "number"), match.end()
        yield Lexeme(kind, position, sql[position:end])
        position = end


def _end_of_comment(sql: str, start: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise UnreadableError(f"an open comment at character {start + 1}")


def divided_alike(sql: str, lexemes: Sequence[Lexeme], tokens: Sequence[Token]) -> bool:
    """Whether sqlglot sees code, quotes and comments exactly where the engine does.

    Args:
        sql: The statement.
        lexemes: It, as `read` divides it.
        tokens: It, as sqlglot divides it.
    """
    from sqlglot.tokenizer_core import TokenType

    quoted = {
        *(TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.IDENTIFIER),
        *(TokenType.BYTE_STRING, TokenType.BIT_STRING, TokenType.HEX_STRING),
        *(TokenType.UNICODE_STRING, TokenType.HEREDOC_STRING),
    }
    ours = [(each.start, each.raw, each.kind in {"string", "name"}) for each in lexemes]
    theirs = [
        (token.start, sql[token.start : token.end + 1], token.token_type in quoted)
        for token in tokens
        if token.token_type is not TokenType.HINT
    ]
    return _painted(sql, ours) == _painted(sql, theirs)


def _painted(sql: str, pieces: Sequence[tuple[int, str, bool]]) -> str:
    """Return a letter for each character: blank, code or quoted (prefixes such as x are code)."""
    paint = [" "] * len(sql)
    for start, raw, is_quoted in pieces:
        opening = _OPENING.search(raw) if is_quoted else None
        quoted_from = opening.start() if opening else len(raw)
        for offset, character in enumerate(raw):
            if not character.isspace():
                paint[start + offset] = "c" if offset < quoted_from else "q"
    return "".join(paint)
