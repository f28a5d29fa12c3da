"""What PostgreSQL's EXPLAIN tells of a query, and the sizes of what its plan reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from bothends.engines.estimate import Estimate, Side, product

__all__ = ["Relation", "plan_of", "postgres_estimate", "relations"]

_Plan = dict[str, Any]
_Name = tuple[str, str]

# A partition's table, and how many partitions that has in all.
_RELATIONS: Final = """
    SELECT n.nspname, c.relname, pg_relation_size(c.oid), r.relname,
           (SELECT count(*) FROM pg_partition_tree(r.oid) t WHERE t.isleaf)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_class r ON c.relispartition AND r.oid = pg_partition_root(c.oid)
    JOIN unnest(%s::text[], %s::text[]) AS wanted(schema, name)
      ON wanted.schema = n.nspname AND wanted.name = c.relname
"""
_PAGE_BYTES: Final = 8192
_CONSTANT: Final = re.compile(r"\([\w.\"]+ = ('(?:[^']|'')*'|-?\d[\d.]*)")
_CONDITIONS: Final = ("Filter", "Index Cond", "Recheck Cond")


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that a plan reads.

    Attributes:
        size_bytes: The size of its file.
        root: The partitioned table that it is a partition of, or None.
        partitions: How many partitions that has.
    """

    size_bytes: int
    root: str | None = None
    partitions: int = 0


def relations(connection: psycopg.Connection[Any], plan: _Plan) -> dict[_Name, Relation]:
    """Return the tables that a plan reads, by schema and name.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    names = sorted({name for node in _walk(plan) if (name := _relation(node)) is not None})
    schemas, tables = [name[0] for name in names], [name[1] for name in names]
    rows = connection.execute(_RELATIONS, [schemas, tables]).fetchall()
    return {
        (schema, name): Relation(size, root, partitions or 0)
        for schema, name, size, root, partitions in rows
    }


def plan_of(text: Any) -> _Plan:
    """Return the plan in what EXPLAIN answered, decoded or as text."""
    answer = json.loads(text) if isinstance(text, str) else text
    plan: _Plan = answer[0]["Plan"]
    return plan


def postgres_estimate(plan: _Plan, tables: Mapping[_Name, Relation]) -> Estimate:
    """Read an estimate from a plan.

    A sequential scan reads its table whole; a scan by an index as many pages as it returns rows,
    over all its repetitions, or fewer.

    Args:
        plan: The plan, as `plan_of` returns it.
        tables: The tables that it reads.

    Returns:
        The estimate, without its seconds.
    """
    nodes = list(_walk(plan))
    return Estimate(
        scan_bytes=sum(_scan_bytes(plan, 1.0, tables)),
        rows=max(round(node["Plan Rows"]) for node in nodes),
        cartesian=tuple(told for node in nodes if (told := _product(node)) is not None),
        unfiltered_partitions=_unfiltered(nodes, tables),
    )


def _walk(plan: _Plan) -> Iterator[_Plan]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _walk(child)


def _relation(node: _Plan) -> _Name | None:
    name = node.get("Relation Name")
    return None if name is None else (node.get("Schema", "public"), name)


def _scan_bytes(plan: _Plan, times: float, tables: Mapping[_Name, Relation]) -> Iterator[int]:
    name = _relation(plan)
    if name is not None and name in tables:
        size = tables[name].size_bytes
        by_index = plan["Node Type"] in {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
        yield min(size, round(plan["Plan Rows"] * times) * _PAGE_BYTES) if by_index else size
    outer = 1.0
    for child in plan.get("Plans", ()):
        repeated = (
            plan["Node Type"] == "Nested Loop" and child.get("Parent Relationship") == "Inner"
        )
        yield from _scan_bytes(child, times * outer if repeated else times, tables)
        if child.get("Parent Relationship") == "Outer":
            outer = max(1.0, child["Plan Rows"])


def _product(node: _Plan) -> str | None:
    """Return a join without an equality in words; None for every other step."""
    if node["Node Type"] != "Nested Loop":
        return None
    children = {child.get("Parent Relationship"): child for child in node.get("Plans", ())}
    if not {"Outer", "Inner"} <= children.keys():
        return None
    outer, inner = children["Outer"], children["Inner"]
    condition = node.get("Join Filter")
    if condition is not None and " = " in condition:
        return None
    if condition is None and node.get("Join Type") in {"Semi", "Anti"}:
        return None  # whether the other side has a row at all, or one that an index finds
    if _refers(inner, outer) or _constants(inner) & _constants(outer):
        return None
    sides = [_side(outer), _side(inner)]
    if any((side.rows or 0) <= 1 or not side.tables for side in sides):
        return None
    return product(sides[0], sides[1], condition)


def _refers(inner: _Plan, outer: _Plan) -> bool:
    """Whether the inner side is looked up anew for each row of the outer one."""
    text = json.dumps(inner)
    aliases = (node["Alias"] for node in _walk(outer) if "Alias" in node)
    return any(re.search(rf"\b{re.escape(alias)}\\?\"?\.", text) for alias in aliases)


def _constants(side: _Plan) -> set[str]:
    """Return what columns are held equal to: on both sides, it is what a join's equality became."""
    return {
        constant
        for node in _walk(side)
        for name in _CONDITIONS
        for constant in _CONSTANT.findall(node.get(name, ""))
    }


def _side(plan: _Plan) -> Side:
    tables = [name[1] for node in _walk(plan) if (name := _relation(node)) is not None]
    return Side(tables, round(plan["Plan Rows"]))


def _unfiltered(nodes: list[_Plan], tables: Mapping[_Name, Relation]) -> tuple[str, ...]:
    """Return the partitioned tables of which the plan reads every partition."""
    read: dict[str, set[_Name]] = {}
    for node in nodes:
        name = _relation(node)
        if name is not None and name in tables and (root := tables[name].root) is not None:
            read.setdefault(root, set()).add(name)
    return tuple(
        root
        for root, names in read.items()
        if 1 < len(names) == max(tables[name].partitions for name in names)
    )
