"""What Spark's EXPLAIN COST tells of a query: parsed from its text, the only form it has.

The optimized logical plan has the sizes of what is read and every join. Sizes of what is above the
leaves are not used: Spark multiplies those of a join's sides. The physical plan says by which
filters partitions were left out, and which joins compare all pairs of rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bothends.engines.estimate import Estimate, Side, product

__all__ = ["spark_estimate"]

_PHYSICAL: Final = "== Physical Plan =="
_BRANCH: Final = re.compile(r"(?P<indent>[ :]*?)(?:[:+]- )(?P<text>.*)", re.DOTALL)
_STATISTICS: Final = re.compile(
    r", Statistics\(sizeInBytes=(?P<size>[\d.E+]+) (?P<unit>[KMGTPE]i)?B"
    r"(?:, rowCount=(?P<rows>[\d.E+]+))?[^)]*\)\Z"
)
_UNITS: Final = {unit: 1024**power for power, unit in enumerate((None, *"KMGTPE"))}
# What Spark takes for the size of a table that it knows nothing of (spark.sql.defaultSizeInBytes).
_UNKNOWN_BYTES: Final = 2.0**63
_CHILD, _SUBPLAN = 3, 6
_SUBQUERY: Final = re.compile(r"([a-z]+(?:-[a-z]+)*)#\d+ \[")
_SCAN: Final = re.compile(
    r"(?:LogicalRelation|RelationV2|Relation|HiveTableRelation)\b ?(?P<name>[^\[,]*)"
    r"\[(?P<columns>[^\]]*)\](?P<after> [\w.`]+)?"
)
_JOIN: Final = re.compile(
    r"Join (?P<kind>\w+)(?:\([^)]*\))?(?:, (?P<condition>.*?))?"
    r"(?:, (?:left|right)Hint=.*)?",
    re.DOTALL,
)
_ALL_PAIRS: Final = re.compile(
    r"(?:BroadcastNestedLoopJoin Build\w+, \w+(?:\([^)]*\))?, |CartesianProduct )(.*)"
)
_FILE_SCAN: Final = re.compile(
    r"FileScan \w+ (?P<name>[^\[]*)\[(?P<columns>[^\]]*)\].*?"
    r"PartitionFilters: \[(?P<filters>.*?)\], (?:PushedFilters|ReadSchema)"
)
_NOT_NULL: Final = re.compile(r"isnotnull\([^()]*\)")
_COLUMN: Final = re.compile(r"(\w+)#(\d+)")
# They return no more rows than their one child.
_NARROWING: Final = frozenset(
    {"Project", "Filter", "Sort", "Window", "Aggregate", "Distinct", "SubqueryAlias"}
    | {"Repartition", "RepartitionByExpression", "RebalancePartitions", "LocalLimit", "GlobalLimit"}
)


@dataclass(slots=True)
class _Node:
    """A step of the logical plan.

    Attributes:
        text: What it does.
        size_bytes: What Spark takes to come out of it; None where it knows nothing.
        rows: Likewise.
        children: The steps that it takes its rows from.
        subplans: The queries within its expressions.
    """

    text: str
    size_bytes: float | None
    rows: float | None
    children: list[_Node] = field(default_factory=list)
    subplans: list[_Node] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The operator's name."""
        return re.split(r"\W", self.text, maxsplit=1)[0]

    @property
    def one_row(self) -> bool:
        """Whether it is sure to return one row at most."""
        if self.kind == "OneRowRelation" or (self.rows is not None and self.rows <= 1):
            return True
        alike = self.kind in _NARROWING or self.kind == "Join"
        return alike and bool(self.children) and all(child.one_row for child in self.children)

    def walk(self) -> Iterator[_Node]:
        """Yield it and all that is below it, what is read for pruning partitions left out.

        Spark prunes by a join's other side only where it has read that side anyway.
        """
        yield self
        kinds = _SUBQUERY.findall(self.text)
        for place, subplan in enumerate(self.subplans):
            if len(kinds) != len(self.subplans) or kinds[place] != "dynamicpruning":
                yield from subplan.walk()
        for child in self.children:
            yield from child.walk()


def spark_estimate(
    explained: str,
    partitioned: Callable[[str], bool],
    views: Mapping[str, tuple[str, ...]] | None = None,
) -> Estimate:
    """Read an estimate from the text of EXPLAIN COST.

    Sizes are rounded there to a tenth of their unit: by 2.5 percent at most.

    Args:
        explained: The text.
        partitioned: Tells whether a table is, by its name in the plan.
        views: The columns of each view of files, of which a plan does not tell the name.

    Returns:
        The estimate, without its seconds. What cannot be read is unknown.
    """
    logical, _, physical = explained.partition(_PHYSICAL)
    root = _parse(logical)
    if root is None:
        return Estimate()
    nodes = list(root.walk())
    all_pairs = {match[1].strip() for match in _ALL_PAIRS.finditer(physical)}
    sizes = [node.size_bytes for node in nodes if _SCAN.match(node.text)]
    rows = [node.rows for node in nodes]
    known = [size for size in sizes if size is not None]
    most = [count for count in rows if count is not None]
    return Estimate(
        scan_bytes=round(sum(known)) if len(known) == len(sizes) else None,
        rows=round(max(most)) if len(most) == len(rows) else None,
        cartesian=tuple(
            told for node in nodes if (told := _product(node, all_pairs, views or {})) is not None
        ),
        unfiltered_partitions=_unfiltered(physical, nodes, partitioned, views or {}),
    )


def _parse(logical: str) -> _Node | None:
    root: _Node | None = None
    open_nodes: list[tuple[int, _Node]] = []
    for depth, text in _entries(logical):
        node = _node(text)
        while open_nodes and open_nodes[-1][0] >= depth:
            open_nodes.pop()
        if open_nodes:
            above, parent = open_nodes[-1]
            (parent.subplans if depth - above >= _SUBPLAN else parent.children).append(node)
        elif root is None:
            root = node
        open_nodes.append((depth, node))
    return root


def _entries(logical: str) -> Iterator[tuple[int, str]]:
    """Yield each step's depth and text; a text may hold lines, where a literal in it does."""
    entry: tuple[int, str] | None = None
    for line in logical.strip().split("\n")[1:]:  # behind its title
        branch = _BRANCH.fullmatch(line)
        if entry is None:
            entry = (0, line)
        elif branch is not None:
            yield entry
            entry = (len(branch["indent"]) + _CHILD, branch["text"])
        else:
            entry = (entry[0], f"{entry[1]}\n{line}")
    if entry is not None:
        yield entry


def _node(text: str) -> _Node:
    told = _STATISTICS.search(text.rstrip())
    if told is None:
        return _Node(text, None, None)
    size = float(told["size"]) * _UNITS[told["unit"] and told["unit"][0]]
    return _Node(
        text[: told.start()],
        size if size < _UNKNOWN_BYTES else None,
        float(told["rows"]) if told["rows"] else None,
    )


def _product(node: _Node, all_pairs: set[str], views: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return a join without an equality in words; None for every other step."""
    join = _JOIN.fullmatch(node.text)
    if join is None or len(node.children) != 2:
        return None
    condition = join["condition"]
    if condition is None and join["kind"] in {"LeftSemi", "LeftAnti"}:
        return None  # whether the other side has a row at all: its first one is read
    if condition is not None and condition not in all_pairs:
        return None
    sides = [_side(child, views) for child in node.children]
    if any(child.one_row for child in node.children) or not all(side.tables for side in sides):
        return None
    shown = condition and re.sub(r"#\d+L?", "", condition)
    return product(sides[0], sides[1], shown)


def _side(node: _Node, views: Mapping[str, tuple[str, ...]]) -> Side:
    below = list(node.walk())
    tables = [_name(match, views) for each in below if (match := _SCAN.match(each.text))]
    tables += ["range" for each in below if each.kind == "Range"]
    return Side(tables, None if node.rows is None else round(node.rows))


def _name(scan: re.Match[str], views: Mapping[str, tuple[str, ...]]) -> str:
    name = scan["name"].strip() or (scan["after"] or "").strip()
    if "." in name:
        return _short(name)
    columns = tuple(column for column, _ in _COLUMN.findall(scan["columns"]))
    return next((view for view, own in views.items() if own[: len(columns)] == columns), "a view")


def _short(name: str) -> str:
    """Return a table's name as somebody writes it in a query."""
    return name.removeprefix("spark_catalog.").removeprefix("default.")


def _unfiltered(
    physical: str,
    nodes: list[_Node],
    partitioned: Callable[[str], bool],
    views: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    """Return the partitioned tables that a scan reads whole.

    That a key is not null leaves nothing out that a table would hold by intention.
    """
    owners = {
        number: _name(scan, views)
        for node in nodes
        if (scan := _SCAN.match(node.text))
        for _, number in _COLUMN.findall(scan["columns"])
    }
    found: dict[str, None] = {}
    for scan in _FILE_SCAN.finditer(physical):
        if _NOT_NULL.sub("", scan["filters"]).strip(", "):
            continue
        numbers = [number for _, number in _COLUMN.findall(scan["columns"])]
        name = scan["name"].strip() or next((owners[n] for n in numbers if n in owners), "")
        if name and partitioned(name):
            found[_short(name)] = None
    return tuple(found)
