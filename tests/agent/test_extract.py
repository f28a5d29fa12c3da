"""Finding the SQL in what models really write."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bothends.agent.extract import extract_sql

FENCED = {
    "a fence with its language": ("```sql\nSELECT 1;\n```", "SELECT 1"),
    "a bare fence": ("```\nSELECT 1\n```", "SELECT 1"),
    "an engine's name as language": ("```sparksql\nSELECT 1\n```", "SELECT 1"),
    "a language in capitals": ("```SQL\nSELECT 1\n```", "SELECT 1"),
    "the last of two": (
        "First:\n```sql\nSELECT 1\n```\nBetter:\n```sql\nSELECT 2\n```",
        "SELECT 2",
    ),
    "the last that holds a statement": (
        "```sql\nSELECT 1\n```\nIt prints:\n```\nn\n3\n```",
        "SELECT 1",
    ),
    "another language": ("```python\nprint('select 1')\n```", None),
    "SQL inside another language": ('```python\nspark.sql("""\nSELECT 1\n""")\n```', None),
    "a statement beside another language": ("```python\nx = 1\n```\nSELECT 1", "SELECT 1"),
    "a comment before it": ("```sql\n-- note\nSELECT 1\n```", "-- note\nSELECT 1"),
    "a block comment before it": ("```sql\n/* a; b */ SELECT 1\n```", "/* a; b */ SELECT 1"),
    "parentheses around it": (
        "```sql\n(SELECT 1) UNION (SELECT 2)\n```",
        "(SELECT 1) UNION (SELECT 2)",
    ),
    "a fence without a line break": ("```sql SELECT a FROM t```", "SELECT a FROM t"),
    "a bare fence without a line break": ("Use ```SELECT a FROM t``` here.", "SELECT a FROM t"),
    "tildes": ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
    "four backticks": ("````sql\nSELECT 1\n````", "SELECT 1"),
    "an indented fence": ("1. Run\n   ```sql\n   SELECT 1\n   ```", "SELECT 1"),
    "a fence that a cut reply leaves open": (
        "```sql\nSELECT a\nFROM t\nWHERE",
        "SELECT a\nFROM t\nWHERE",
    ),
    "explanation before it in the fence": (
        "```\nHere is the query:\nSELECT a FROM t\n```",
        "SELECT a FROM t",
    ),
    "explanation after it in the fence": (
        "```sql\nSELECT a FROM t;\nIt returns each a.\n```",
        "SELECT a FROM t",
    ),
    "explanation after a blank line in the fence": (
        "```sql\nSELECT a FROM t\n\nThis returns each a.\n```",
        "SELECT a FROM t",
    ),
    "a blank line inside the statement": (
        "```sql\nWITH x AS (SELECT 1)\n\nSELECT * FROM x\n```",
        "WITH x AS (SELECT 1)\n\nSELECT * FROM x",
    ),
    "a semicolon in a string": ("```sql\nSELECT ';' AS s;\n```", "SELECT ';' AS s"),
    "a semicolon in a comment": ("```sql\nSELECT 1 -- a; b\n, 2;\n```", "SELECT 1 -- a; b\n, 2"),
    "the first of two in one fence": ("```sql\nSELECT 1;\nSELECT 2;\n```", "SELECT 1"),
    "VALUES": ("```sql\nVALUES (1), (2)\n```", "VALUES (1), (2)"),
    "FROM first": ("```sql\nFROM t SELECT a\n```", "FROM t SELECT a"),
    "what a query's mistake looks like": ("```sql\nSELECT FROM WHERE\n```", "SELECT FROM WHERE"),
    "a write, for the guard to reject": ("```sql\nDELETE FROM t\n```", "DELETE FROM t"),
    "a query before a write": (
        "```sql\nSELECT 1\n```\nFaster with:\n```sql\nCREATE INDEX i ON t (a)\n```",
        "SELECT 1",
    ),
    "JSON in a fence": ('```json\n{"sql": "SELECT 1;"}\n```', "SELECT 1"),
    "an empty fence": ("```sql\n```", None),
}

BARE = {
    "a line of its own": ("The query is:\nSELECT a\nFROM t;\nIt works.", "SELECT a\nFROM t"),
    "lower case": ("with x as (select 1) select * from x", "with x as (select 1) select * from x"),
    "a label": ("SQL: SELECT a FROM t", "SELECT a FROM t"),
    "another label": ("Answer:\nSELECT a FROM t", "SELECT a FROM t"),
    "a label in bold": ("**SQL Query:** SELECT a FROM t", "SELECT a FROM t"),
    "a label within a line": ("The final query: select count(*) from t", "select count(*) from t"),
    "JSON": ('{"sql": "SELECT a\\nFROM t"}', "SELECT a\nFROM t"),
    "JSON with another key": (
        'Sure: {"thought": "select it", "query": "SELECT 1"}',
        "SELECT 1",
    ),
    "JSON of a tool call": (
        '{"name": "run_query", "arguments": {"sql": "SELECT 1"}}',
        "SELECT 1",
    ),
    "JSON without SQL": ('{"query": "How many items?"}', None),
    "inline code": ("Run `SELECT 1` and see.", "SELECT 1"),
    "inline code with its own backticks": (
        "Run ``SELECT `a b` FROM t`` then.",
        "SELECT `a b` FROM t",
    ),
    "inline code that is no statement": ("The column `selected` of `with`.", None),
    "prose behind it": ("SELECT a FROM t\nThis returns each a.", "SELECT a FROM t"),
    "prose behind a blank line": (
        "SELECT a\nFROM t\n\nExplanation: it's each a; no more.",
        "SELECT a\nFROM t",
    ),
    "its clauses after a blank line": (
        "SELECT a\nFROM t\n\nWHERE a > 1",
        "SELECT a\nFROM t\n\nWHERE a > 1",
    ),
    "prose in a string": (
        "SELECT 'x\nThis is text' AS s FROM t\nDone it is.",
        "SELECT 'x\nThis is text' AS s FROM t",
    ),
    "parentheses": ("((SELECT 1) UNION SELECT 2)", "((SELECT 1) UNION SELECT 2)"),
    "the first of two": ("SELECT 1;\nSELECT 2;", "SELECT 1"),
    "an item of a list": ("Either:\n1. SELECT a FROM t\n", "SELECT a FROM t"),
    "a quotation": ("> SELECT a FROM t", "SELECT a FROM t"),
    "a template's closing token": ("SELECT a FROM t<|im_end|>", "SELECT a FROM t"),
    "tags around it": ("Sure. <sql>SELECT a FROM t</sql>", "SELECT a FROM t"),
    "a recursive WITH": (
        "WITH RECURSIVE n(i) AS (SELECT 1) SELECT i FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1) SELECT i FROM n",
    ),
    "a quoted name behind WITH": (
        'WITH "a b" AS (SELECT 1) SELECT * FROM "a b"',
        'WITH "a b" AS (SELECT 1) SELECT * FROM "a b"',
    ),
    "a comment before it": ("-- each a\nSELECT a FROM t", "-- each a\nSELECT a FROM t"),
    "a constant": ("SELECT 1", "SELECT 1"),
    "SELECT inside prose": ("I would select the rows with the largest price.", None),
    "SELECT at the start of prose": ("Select the rows with the largest price.", None),
    "SELECT where prose is wrapped": ("I would\nselect all rows from the table of items.", None),
    "SELECT as a word for itself": ("SELECT statements read from tables.", None),
    "WITH in prose": ("With regard to the question, there is none.", None),
    "WITH in prose, with parentheses": ("With items (three of them) as given.", None),
    "FROM in prose": ("From the table we select each row.", None),
    "no query": ("There is no query here.", None),
    "nothing": ("", None),
}

THOUGHT = {
    "thoughts before it": (
        "<think>Maybe ```sql\nSELECT 0\n```</think>\n```sql\nSELECT 1\n```",
        "SELECT 1",
    ),
    "nothing but thoughts": ("<think>\nSELECT 0\n</think>\nI cannot say.", None),
    "thoughts whose beginning the template holds": ("SELECT 0\n</think>\nSELECT 1", "SELECT 1"),
    "thoughts that were cut": ("<think>\nSELECT 0\nor SELECT 2", None),
    "thoughts by another name": ("<thinking>SELECT 0</thinking>SELECT 1", "SELECT 1"),
    "thoughts after the answer": ("SELECT 1;\n<think>\nSELECT 0;\n</think>", "SELECT 1"),
}


@pytest.mark.parametrize(
    ("text", "sql"),
    [pytest.param(*case, id=name) for name, case in (FENCED | BARE | THOUGHT).items()],
)
def test_extract_sql(text: str, sql: str | None) -> None:
    assert extract_sql(text, "spark") == sql


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("SELECT 'a\\' AS backslash, ';' AS b", "sqlite"),  # a backslash is a character there
        ("SELECT 'a\\';' AS quote", "spark"),  # and an escape here
        ("SELECT [a;b] FROM t", "sqlite"),
        ('SELECT "a;b" FROM t', "postgres"),
        ("SELECT `a;b` FROM t", "spark"),
        ("SELECT /* a /* nested; */ b; */ 1", "postgres"),
    ],
)
def test_quotes_are_those_of_the_dialect(sql: str, dialect: str) -> None:
    assert extract_sql(f"```sql\n{sql};\n```", dialect) == sql
    assert extract_sql(f"Here:\n{sql};\nIt's it.", dialect) == sql


LITERALS = st.text(st.characters(codec="utf-8", exclude_characters="`~'\\\x00")).map(
    lambda text: f"'{text}'"
)
TERMS = st.one_of(
    LITERALS,
    st.sampled_from(["a", "t.b", "COUNT(*)", "(SELECT 1)", "/* ; */ c", "-- ;\nd", '"x;y"', "1.5"]),
)
STATEMENTS = st.builds(
    lambda head, terms, gap, tail: head + gap.join(terms) + tail,
    st.sampled_from(["SELECT ", "select\n\n", "WITH x AS (SELECT 1)\n\nSELECT ", "(SELECT "]),
    st.lists(TERMS, min_size=1, max_size=5),
    st.sampled_from([", ", "\n  , ", ",\n\n"]),
    st.sampled_from(["", " FROM t", "\nFROM t\n\nWHERE a = ';'", "\nFROM t -- The end it is\n"]),
)


@given(
    STATEMENTS,
    st.sampled_from(["```sql\n{}\n```", "~~~\n{};\n~~~", "So:\n\n````SQL\n{}\n;\n````\nIt's it."]),
)
def test_a_fenced_statement_is_returned_whole(sql: str, reply: str) -> None:
    assert extract_sql(reply.format(sql), "sqlite") == sql.strip()


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    found = extract_sql(text, "postgres")
    assert found is None or found.strip() == found != ""


@pytest.mark.parametrize(
    "piece", ["SELECT x y z w\n", "select the rows\n", "-- a\n", '{"a":', "`SELECT ", "(", "```"]
)
def test_a_reply_that_repeats_itself_is_read_in_time(piece: str) -> None:
    started_s = time.perf_counter()
    extract_sql(piece * 2_000, "spark")
    assert time.perf_counter() - started_s < 10  # some take quadratic time, none minutes
