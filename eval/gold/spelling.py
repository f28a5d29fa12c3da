"""Names as the targets want them written: quoted only where they would be read as another."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from bothends.eval.gold.context import Target

__all__ = ["spell"]

_PLAIN: Final = {
    # PostgreSQL takes a name without quotes for lower case.
    "postgres": re.compile(r"[a-z_][a-z0-9_]*"),
    "spark": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
}
# Reserved in PostgreSQL (appendix C of its documentation); a superset of what Spark minds.
_RESERVED: Final = frozenset(
    {
        *("all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric"),
        *("authorization", "between", "binary", "both", "case", "cast", "check", "collate"),
        *("collation", "column", "concurrently", "constraint", "create", "cross"),
        *("current_catalog", "current_date", "current_role", "current_schema", "current_time"),
        *("current_timestamp", "current_user", "default", "deferrable", "desc", "distinct", "do"),
        *("else", "end", "except", "false", "fetch", "for", "foreign", "freeze", "from", "full"),
        *("grant", "group", "having", "ilike", "in", "initially", "inner", "intersect", "into"),
        *("is", "isnull", "join", "lateral", "leading", "left", "like", "limit", "localtime"),
        *("localtimestamp", "natural", "not", "notnull", "null", "offset", "on", "only", "or"),
        *("order", "outer", "overlaps", "placing", "primary", "references", "returning", "right"),
        *("select", "session_user", "similar", "some", "symmetric", "system_user", "table"),
        *("tablesample", "then", "to", "trailing", "true", "union", "unique", "user", "using"),
        *("variadic", "verbose", "when", "where", "window", "with", "anti", "minus", "semi"),
        *("row", "values"),
    }
)


def spell(query: exp.Expr, target: Target) -> exp.Expr:
    """Quote the names in a query that need it, and no others, in place."""
    for identifier in query.find_all(exp.Identifier):
        name = identifier.name
        plain = _PLAIN[target].fullmatch(name) and name.lower() not in _RESERVED
        identifier.set("quoted", not plain)
    return query
