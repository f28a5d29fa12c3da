"""What each name in a query means: which column, which string, or what an alias stands for.

SQLite looks names up without regard to case, takes a name in double quotes that nothing has for a
string, and lets WHERE, GROUP BY and HAVING use the aliases of the select list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from bothends.eval.gold.kinds import affinity_of, annotate, as_value, kind_of, mark
from bothends.eval.gold.schema import Affinity, Kind, Schema
from bothends.eval.gold.source import UntranslatableError

__all__ = ["resolve"]


@dataclass(frozen=True, slots=True)
class _Output:
    """A column of a source: how its name is spelt, and what it holds."""

    name: str
    kind: Kind
    affinity: Affinity


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the names in one SELECT can mean; `outer` is the query around it."""

    sources: dict[str, tuple[str, dict[str, _Output]]]
    aliases: dict[str, exp.Expr]
    outer: _Frame | None


_Sources = Mapping[str, Sequence[_Output]]


def resolve(query: exp.Query, schema: Schema) -> frozenset[str]:
    """Give each name its meaning, and each expression its kind, in place.

    A column is left qualified where it was not alone, and spelt as its table spells it. On each
    node `meta` has its `kind` and `affinity`; on a column also `source`, the lower-case alias it
    comes from, and `outer`, whether that is of a query around its own.

    Returns:
        The names of the rules that were needed.

    Raises:
        UntranslatableError: If a name means nothing, or what it yields depends on the data.
    """
    resolver = _Resolver(schema)
    resolver.query(query, None, {})
    return frozenset(resolver.rules)


@dataclass
class _Resolver:
    schema: Schema
    rules: set[str] = field(default_factory=set)

    def query(self, query: exp.Expr, outer: _Frame | None, ctes: _Sources) -> list[_Output]:
        """Resolve a query, and return its result's columns."""
        ctes = self._with(query, outer, ctes)
        if isinstance(query, exp.Subquery):
            outputs = self.query(query.this, outer, ctes)
        elif isinstance(query, exp.SetOperation):
            outputs = self.query(query.this, outer, ctes)
            others = self.query(query.expression, outer, ctes)
            if len(outputs) != len(others):
                raise UntranslatableError("a compound query's parts differ in width")
            self._ordered_by_outputs(query, outputs)
        elif isinstance(query, exp.Select):
            outputs = self._select(query, outer, ctes)
        else:
            raise UntranslatableError(f"there is no rule for {query.key.upper()}")
        query.meta["outputs"] = outputs
        if outputs:
            mark(query, outputs[0].kind, outputs[0].affinity)
        return outputs

    def _with(self, query: exp.Expr, outer: _Frame | None, ctes: _Sources) -> _Sources:
        clause = query.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        for cte in clause.expressions:
            names = [each.name for each in cte.args["alias"].args.get("columns") or ()]
            recursive = clause.args.get("recursive") and isinstance(cte.this, exp.SetOperation)
            if recursive:
                first = self.query(cte.this.this, outer, known)
                known[cte.alias.lower()] = _renamed(first, names)
            outputs = self.query(cte.this, outer, known)
            cte.args["alias"].set("this", exp.to_identifier(cte.alias.lower()))
            known[cte.alias] = _renamed(outputs, names)
        return known

    def _select(self, select: exp.Select, outer: _Frame | None, ctes: _Sources) -> list[_Output]:
        frame = _Frame({}, {}, outer)
        clauses = [select.args.get("from_"), *(select.args.get("joins") or ())]
        for clause in filter(None, clauses):
            self._source(clause.this, frame, ctes)
        for item in select.expressions:
            self._visit(item, frame, ctes)
        for item in select.expressions:
            if isinstance(item, exp.Alias):
                frame.aliases.setdefault(item.alias.lower(), item.this)
        for join in select.args.get("joins") or ():
            for key in ("on", "using"):
                self._visit_all(join.args.get(key), frame, ctes)
        for key in ("where", "group", "having", "windows", "order", "limit", "offset"):
            self._visit_all(select.args.get(key), frame, ctes)
        return [output for item in select.expressions for output in self._outputs(item, frame)]

    def _source(self, source: exp.Expr, frame: _Frame, ctes: _Sources) -> None:
        if isinstance(source, exp.Table):
            if not isinstance(source.this, exp.Identifier):
                raise UntranslatableError("there is no rule for functions that return tables")
            name = source.name.lower()
            if name in ctes and not source.db:
                outputs = list(ctes[name])
                spelt = name
                source.set("this", exp.to_identifier(name))
            elif name in self.schema.tables:
                table = self.schema.tables[name]
                spelt = table.name
                outputs = [
                    _Output(each.name, each.kind, each.affinity) for each in table.columns.values()
                ]
                source.meta["table"] = name
                source.set("db", None)
                if spelt != source.name:
                    self.rules.add("names")
                source.set("this", exp.to_identifier(spelt))
                if not source.alias and spelt.lower() != name:
                    exp.alias_(source, name, table=True, copy=False)
            else:
                raise UntranslatableError(f"there is no table {source.name!r}")
        elif isinstance(source, exp.Subquery):
            outputs = self.query(source.this, frame.outer, ctes)
            spelt = ""
        else:
            raise UntranslatableError(f"there is no rule for {source.key.upper()} in FROM")
        for join in source.args.get("joins") or ():
            self._source(join.this, frame, ctes)
        if source.alias:
            # An alias means nothing but its table: in lower case it needs no quotes anywhere.
            source.args["alias"].set("this", exp.to_identifier(source.alias.lower()))
        alias = source.alias or spelt
        frame.sources[alias.lower() or f"#{len(frame.sources)}"] = (
            alias,
            {output.name.lower(): output for output in reversed(outputs)},
        )

    def _visit_all(self, clause: object, frame: _Frame, ctes: _Sources) -> None:
        for each in clause if isinstance(clause, list) else [clause]:
            if isinstance(each, exp.Expr):
                self._visit(each, frame, ctes)

    def _visit(self, node: exp.Expr, frame: _Frame, ctes: _Sources) -> None:
        """Resolve the names in an expression, queries in it included; then find its kind."""
        self._names(node, frame, ctes)
        annotate(node)

    def _names(self, node: exp.Expr, frame: _Frame, ctes: _Sources) -> None:
        if isinstance(node, exp.Query):
            self.query(node, frame, ctes)
        elif isinstance(node, exp.Column):
            if not isinstance(node.this, exp.Star):
                self._column(node, frame)
            elif (source := frame.sources.get(node.table.lower())) is not None:
                node.set("table", exp.to_identifier(source[0]))
        else:
            for child in list(node.iter_expressions()):
                self._names(child, frame, ctes)

    def _column(self, column: exp.Column, frame: _Frame) -> None:
        if _stands_alone(column) and column.name.lower() in frame.aliases:
            # In ORDER BY an alias comes before a column, and every engine knows it there.
            item = frame.aliases[column.name.lower()]
            mark(column, kind_of(item), affinity_of(item))
            column.meta["alias"] = True
            return
        found = self._find(column, frame)
        if found is not None:
            alias, output, outer = found
            spelt = (output.name, alias if column.table else "")
            if spelt[0] != column.name:
                self.rules.add("names")
            column.set("this", exp.to_identifier(output.name))
            if column.table:
                column.set("table", exp.to_identifier(alias))
            mark(column, output.kind, output.affinity)
            column.meta["source"] = alias.lower()
            column.meta["outer"] = outer
            return
        if not column.table and column.name.lower() in frame.aliases:
            item = frame.aliases[column.name.lower()]
            self.rules.add("aliases")
            column.replace(exp.paren(item.copy()) if isinstance(item, exp.Binary) else item.copy())
        elif not column.table and column.this.args.get("quoted"):
            self.rules.add("strings in double quotes")
            column.replace(mark(exp.Literal.string(column.name), "text"))
        elif column.name.lower() in ("rowid", "oid", "_rowid_"):
            raise UntranslatableError("it speaks of rowids, which only SQLite has")
        else:
            raise UntranslatableError(f"nothing is called {column.sql('sqlite')!r}")

    def _find(self, column: exp.Column, frame: _Frame) -> tuple[str, _Output, bool] | None:
        name, wanted = column.name.lower(), column.table.lower()
        here: _Frame | None = frame
        while here is not None:
            for key, (alias, outputs) in here.sources.items():
                if name in outputs and wanted in ("", key):
                    return alias, outputs[name], here is not frame
            here = here.outer
        return None

    def _ordered_by_outputs(self, query: exp.SetOperation, outputs: Sequence[_Output]) -> None:
        by_name = {output.name.lower(): output for output in reversed(outputs)}
        order = query.args.get("order")
        for column in order.find_all(exp.Column) if order else ():
            if column.name.lower() not in by_name:
                raise UntranslatableError("a compound query is sorted by what it does not select")
            output = by_name[column.name.lower()]
            column.set("this", exp.to_identifier(output.name))
            column.set("table", None)
            mark(column, output.kind, output.affinity)
        for clause in ("order", "limit", "offset"):
            if (part := query.args.get(clause)) is not None:
                annotate(part)

    def _outputs(self, item: exp.Expr, frame: _Frame) -> Iterator[_Output]:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            wanted = item.text("table").lower() if isinstance(item, exp.Column) else ""
            for key, (_, outputs) in frame.sources.items():
                if wanted in ("", key):
                    yield from reversed(outputs.values())
            return
        name = item.alias or (item.name if isinstance(item, exp.Column) else item.sql("sqlite"))
        yield _Output(name, as_value(kind_of(item)), affinity_of(item))


def _stands_alone(column: exp.Column) -> bool:
    """Whether a column is a whole sort key, unqualified."""
    return not column.table and isinstance(column.parent, exp.Ordered)


def _renamed(outputs: Sequence[_Output], names: Sequence[str]) -> list[_Output]:
    if not names:
        return list(outputs)
    return [
        _Output(name, each.kind, each.affinity) for name, each in zip(names, outputs, strict=True)
    ]
