"""How each target says what SQLite means, where it takes more than another function's name.

In a form `:x` stands for an expression. Regular expressions are written without backslashes where
possible, since targets differ in what a backslash in a string is.
"""

from __future__ import annotations

from typing import Final

import sqlglot
from sqlglot import exp

__all__ = ["build"]

_NUMBER: Final = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DAY: Final = "(0[1-9]|[12][0-9]|3[01])"
# A date, or a date and a time of day; without a zone.
_MOMENT: Final = (
    f"^[0-9]{{4}}-(0[1-9]|1[0-2])-{_DAY}"
    "([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?)?$"
)

_START: Final = "CASE WHEN :s < 0 THEN LENGTH(:x) + :s + 1 ELSE :s END"
_ANY: Final = "CASE WHEN :f IS NOT NULL THEN SUBSTRING(:x, CAST(GREATEST(:f, 1) AS INT)) END"
_CUT: Final = (
    "CASE WHEN :n >= 0 THEN SUBSTRING(:x, :f, CAST(:n AS INT)) "
    "WHEN :n < 0 THEN SUBSTRING(:x, CAST(GREATEST(:f + :n, 1) AS INT), "
    "CAST(:f - GREATEST(:f + :n, 1) AS INT)) END"
)
_ANY_CUT: Final = (
    "CASE WHEN :f IS NULL THEN NULL "
    "WHEN :n < 0 THEN SUBSTRING(:x, CAST(GREATEST(:f + :n, 1) AS INT), "
    "CAST(GREATEST(:f - GREATEST(:f + :n, 1), 0) AS INT)) "
    "WHEN :n >= 0 THEN SUBSTRING(:x, CAST(GREATEST(:f, 1) AS INT), "
    "CAST(GREATEST(:f + :n - GREATEST(:f, 1), 0) AS INT)) END"
)

# Both targets' forms, PostgreSQL's first.
_FORMS: Final[dict[str, tuple[str, str]]] = {
    # The number that a text begins with, 0 where it begins with none.
    "real of text": (
        "CASE WHEN :x IS NOT NULL THEN COALESCE(CAST(SUBSTRING(:x FROM "
        f"'^[[:space:]]*({_NUMBER})') AS DOUBLE PRECISION), 0) END",
        "CASE WHEN :x IS NOT NULL THEN COALESCE(CAST(NULLIF(REGEXP_EXTRACT(:x, "
        f"'^[ \\t\\n\\x0B\\f\\r]*({_NUMBER})', 1), '') AS DOUBLE), CAST(0 AS DOUBLE)) END",
    ),
    "integer of text": (
        "CASE WHEN :x IS NOT NULL THEN CAST(LEAST(GREATEST(COALESCE(CAST(SUBSTRING(:x FROM "
        "'^[[:space:]]*([+-]?[0-9]+)') AS NUMERIC), 0), -9223372036854775808), "
        "9223372036854775807) AS BIGINT) END",
        "CASE WHEN :x IS NOT NULL THEN CAST(LEAST(GREATEST(COALESCE(CAST(NULLIF(REGEXP_EXTRACT(:x, "
        "'^[ \\t\\n\\x0B\\f\\r]*([+-]?[0-9]+)', 1), '') AS DECIMAL(38, 0)), 0), "
        "-9223372036854775808), 9223372036854775807) AS BIGINT) END",
    ),
    # A text that is a number from end to end.
    "is numeric": (
        f":x ~ '^[[:space:]]*{_NUMBER}[[:space:]]*$'",
        f":x RLIKE '^[ \\t\\n\\x0B\\f\\r]*{_NUMBER}[ \\t\\n\\x0B\\f\\r]*$'",
    ),
    # A text that begins with an integer, and is taken for one: no point or exponent follows.
    "begins real": (
        ":x ~ '^[[:space:]]*[+-]?([0-9]+[.]|[.][0-9]|[0-9]+[eE][+-]?[0-9])'",
        ":x RLIKE '^[ \\t\\n\\x0B\\f\\r]*[+-]?([0-9]+[.]|[.][0-9]|[0-9]+[eE][+-]?[0-9])'",
    ),
    # Towards zero, and what is too large is the largest there is.
    "integer of real": (
        "CASE WHEN :x >= 9.2233720368547758E18 THEN 9223372036854775807 "
        "WHEN :x <= -9.2233720368547758E18 THEN -9223372036854775808 "
        "ELSE CAST(TRUNC(:x) AS BIGINT) END",
        "CASE WHEN :x >= 9.2233720368547758E18 THEN 9223372036854775807 "
        "WHEN :x <= -9.2233720368547758E18 THEN -9223372036854775808 "
        "ELSE CAST(:x AS BIGINT) END",
    ),
    # 15 significant digits, at least one decimal, an exponent outside 1e-4 to 1e15.
    "text of real": (
        "CASE WHEN :x = 0 THEN '0.0' WHEN ABS(:x) >= 0.0001 AND ABS(:x) < 1E15 THEN "
        "REGEXP_REPLACE(CAST(CAST(:x AS NUMERIC) AS TEXT), '^(-?[0-9]+)$', '\\1.0') ELSE "
        "REPLACE(REGEXP_REPLACE(TRIM(TO_CHAR(:x, '9.99999999999999EEEE')), '0+e', 'e'), "
        "'.e', '.0e') END",
        "CASE WHEN :x = 0 THEN '0.0' WHEN ABS(:x) >= 0.0001D AND ABS(:x) < 1E15 THEN "
        "REGEXP_REPLACE(REGEXP_REPLACE(CAST(CAST(FORMAT_STRING('%.14e', :x) AS DECIMAL(38, 19)) "
        "AS STRING), '0+$', ''), '[.]$', '.0') ELSE "
        "REPLACE(REGEXP_REPLACE(FORMAT_STRING('%.14e', :x), '0+e', 'e'), '.e', '.0e') END",
    ),
    "round": (
        "CAST(ROUND(CAST(:x AS NUMERIC), :n) AS DOUBLE PRECISION)",
        "ROUND(CAST(:x AS DOUBLE), :n)",
    ),
    "substr from end": ("SUBSTRING(:x FROM LENGTH(:x) - :k)", ""),
    "substr from end, cut": ("SUBSTRING(:x FROM LENGTH(:x) - :k FOR :n)", ""),
    # Where start or length are calculated: places before the first are empty, and a negative
    # length takes what stands before the start.
    "substr from start, cut": (_CUT, _CUT),
    "start of substr": (_START, _START),
    "any substr": (_ANY, _ANY),
    "any substr, cut": (_ANY_CUT, _ANY_CUT),
    # Only the letters A to Z have a case.
    "lower": ('LOWER(:x COLLATE "C")', f"TRANSLATE(:x, '{_UPPER}', '{_UPPER.lower()}')"),
    "upper": ('UPPER(:x COLLATE "C")', f"TRANSLATE(:x, '{_UPPER.lower()}', '{_UPPER}')"),
    "group_concat": ("STRING_AGG(:x, :s)", "LISTAGG(:x, :s)"),
    # A month has as many days as SQLite lets it have: the 31st of February is the 3rd of March.
    "moment of text": (
        f"CASE WHEN :x ~ '{_MOMENT}' THEN MAKE_DATE(CAST(SUBSTRING(:x FROM 1 FOR 4) AS INT), "
        "CAST(SUBSTRING(:x FROM 6 FOR 2) AS INT), 1) "
        "+ (CAST(SUBSTRING(:x FROM 9 FOR 2) AS INT) - 1) "
        "+ CAST(COALESCE(NULLIF(SUBSTRING(:x FROM 12), ''), '00:00') AS TIME) END",
        f"CASE WHEN :x RLIKE '{_MOMENT}' THEN CAST(CONCAT(CAST(DATE_ADD(MAKE_DATE("
        "CAST(SUBSTRING(:x, 1, 4) AS INT), CAST(SUBSTRING(:x, 6, 2) AS INT), 1), "
        "CAST(SUBSTRING(:x, 9, 2) AS INT) - 1) AS STRING), ' ', "
        "COALESCE(NULLIF(SUBSTRING(:x, 12), ''), '00:00')) AS TIMESTAMP) END",
    ),
    "now": ("(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')", "CURRENT_TIMESTAMP()"),
    "moment of column": ("CAST(:x AS TIMESTAMP)", "CAST(:x AS TIMESTAMP)"),
    "moment of epoch": ("(TO_TIMESTAMP(:x) AT TIME ZONE 'UTC')", "TIMESTAMP_SECONDS(:x)"),
    "epoch": (
        "CAST(EXTRACT(EPOCH FROM :x) AS DOUBLE PRECISION)",
        "CAST(:x AS DOUBLE)",
    ),
    "format": ("TO_CHAR(:x, :f)", "DATE_FORMAT(:x, :f)"),
    "weekday": ("CAST(EXTRACT(DOW FROM :x) AS TEXT)", "CAST(DAYOFWEEK(:x) - 1 AS STRING)"),
    "seconds": (
        "CAST(CAST(FLOOR(EXTRACT(EPOCH FROM :x)) AS BIGINT) AS TEXT)",
        "CAST(CAST(FLOOR(CAST(:x AS DOUBLE)) AS BIGINT) AS STRING)",
    ),
    # SQLite adds months to the month and keeps the day, whatever the month's length.
    "add months": (
        "DATE_TRUNC('MONTH', :x) + MAKE_INTERVAL(0, :n) + (:x - DATE_TRUNC('MONTH', :x))",
        "DATE_TRUNC('MONTH', :x) + MAKE_YM_INTERVAL(0, :n) + (:x - DATE_TRUNC('MONTH', :x))",
    ),
    "add seconds": (
        ":x + MAKE_INTERVAL(0, 0, 0, 0, 0, 0, :n)",
        ":x + MAKE_DT_INTERVAL(0, 0, 0, :n)",
    ),
    "start of month": ("DATE_TRUNC('MONTH', :x)", "DATE_TRUNC('MONTH', :x)"),
    "start of year": ("DATE_TRUNC('YEAR', :x)", "DATE_TRUNC('YEAR', :x)"),
    "start of day": ("DATE_TRUNC('DAY', :x)", "DATE_TRUNC('DAY', :x)"),
    # The row with the greatest or the least value, for what stands beside max() or min().
    "beside max": ("(ARRAY_AGG(:x ORDER BY :k DESC NULLS LAST))[1]", "MAX_BY(:x, :k)"),
    "beside min": ("(ARRAY_AGG(:x ORDER BY :k NULLS LAST))[1]", "MIN_BY(:x, :k)"),
    "any": ("ANY_VALUE(:x)", "ANY_VALUE(:x)"),
}


def build(form: str, dialect: str, **parts: exp.Expr | int | str) -> exp.Expr:
    """Return a form of a target, filled in.

    Args:
        form: The form's name.
        dialect: `postgres` or `spark`.
        parts: What stands for each placeholder.
    """
    text = _FORMS[form][dialect == "spark"]
    tree = sqlglot.parse_one(text.replace("\\", "\\\\") if dialect == "spark" else text, dialect)
    for hole in list(tree.find_all(exp.Placeholder)):
        part = parts[hole.name]
        filled = part.copy() if isinstance(part, exp.Expr) else exp.convert(part)
        if isinstance(filled, exp.Binary | exp.Not) and not isinstance(
            hole.parent, exp.Func | exp.Tuple
        ):
            filled = exp.paren(filled, copy=False)
        hole.replace(filled)
    return tree
