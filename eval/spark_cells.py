"""How a column of gold and one of a result are compared in Spark SQL, by their types.

It says in SQL what `normalise` and `numbers_equal` say of Python values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from bothends.eval.record import Tolerance

__all__ = ["CellType", "Meeting", "Near", "cell_type", "meet", "meet_as_python"]

Family = Literal["integer", "decimal", "float", "text", "date", "timestamp", "binary", "null"]
Pair = tuple[str, str]

_FAMILIES: Final[dict[str, Family]] = {
    **dict.fromkeys(("boolean", "tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    "string": "text",
    "date": "date",
    "binary": "binary",
    "void": "null",
}
_NUMBERS: Final = {"integer", "decimal", "float"}
_TEXTS: Final = {"text", "date", "timestamp"}
_DECIMAL: Final = re.compile(r"decimal\(\d+,(\d+)\)")
_LARGEST_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class CellType:
    """A column's type, as far as comparing goes.

    Attributes:
        name: Spark's own name of it.
        family: Which types it can be equal to.
        scale: Decimal places, where it is a decimal.
    """

    name: str
    family: Family
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Near:
    """Numbers that are equal within a tolerance.

    Attributes:
        values: What is compared: of gold and of the result.
        doubles: The same as doubles, to bound them.
        within: The condition on `{gold}` and `{predicted}`; NULL where it cannot be told.
        half_unit: Half a unit in the last place that is granted.
        relative: The share of gold's magnitude that is granted.
    """

    values: Pair
    doubles: Pair
    within: str
    half_unit: float
    relative: float


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a column of gold and one of a result are compared.

    Each pair is an expression of gold's column and one of the result's, of the same type.

    Attributes:
        keys: What must be equal, NULL to NULL, for two cells to be equal. Without `near` that is
            enough.
        same: Expressions that are equal exactly where the cells are, but for a tolerance. They
            depend on the other column's type as little as can be, so that most are shared.
        near: What else is compared where the first key is 'number'.
        doubts: Conditions under which equal keys prove nothing.
    """

    keys: tuple[Pair, ...]
    same: tuple[Pair, ...]
    near: Near | None = None
    doubts: Pair = ("false", "false")


def cell_type(name: str) -> CellType | None:
    """Read a type's name; None for one whose values are not compared here, such as an array."""
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return CellType(name, "decimal", int(decimal[1]))
    family = _FAMILIES.get(name)
    return None if family is None else CellType(name, family)


def meet(gold: CellType, predicted: CellType, columns: Pair, tolerance: Tolerance) -> Meeting:
    """Return how two columns are compared, by the rules of `normalise` and `numbers_equal`.

    Integers and decimals of the same scale, and an integer against a decimal, differ by nothing
    or by more than half a unit: they are compared exactly.

    Args:
        gold: The type of gold's column.
        predicted: The type of the result's column.
        columns: The names of the two columns.
        tolerance: How far two numbers may lie apart and still be equal.
    """
    types = (gold, predicted)
    families = {gold.family, predicted.family}
    if families <= _NUMBERS:
        if "float" in families:
            return _near_floats(types, columns, tolerance)
        if gold.scale != predicted.scale and families == {"decimal"} and tolerance.half_unit:
            return _near_decimals(types, columns)
        return _exact_numbers(types, columns)
    if families <= _TEXTS:
        texts = (_pair(*map(_text, types, columns)),)
        return Meeting((columns,) if gold.name == predicted.name else texts, texts)
    if families == {"binary"}:
        return Meeting((columns,), (columns,))
    return _only_nulls(columns)


def meet_as_python(gold: CellType, predicted: CellType, columns: Pair) -> Meeting:
    """Return how two columns are compared as Python compares their values, which is BIRD's rule.

    A date is not its text, and NaN equals nothing. A float equals another number only if that is
    exactly its value, which is in doubt for a decimal and for an integer beyond 2^53.
    """
    families = {gold.family, predicted.family}
    if families <= _NUMBERS and "float" in families:
        doubles = tuple(f"CAST({column} AS DOUBLE)" for column in columns)
        marks = tuple(
            f"IF(isnan({double}), '{side}', NULL)"
            for double, side in zip(doubles, ("gold", "predicted"), strict=True)
        )
        doubts = tuple(map(_beyond_float, (gold, predicted), columns))
        keys = (_pair(*doubles), _pair(*marks))
        return Meeting(keys, keys, doubts=_pair(*doubts))
    if families <= _NUMBERS:
        return _exact_numbers((gold, predicted), columns)
    if len(families) == 1:
        return meet(gold, predicted, columns, Tolerance())
    return _only_nulls(columns)


def _exact_numbers(types: tuple[CellType, CellType], columns: Pair) -> Meeting:
    """Compare numbers that are no floats by exact value, whatever their types."""
    if types[0].family == types[1].family and types[0].scale == types[1].scale:
        kind = "BIGINT"
        if types[0].family == "decimal":
            kind = f"DECIMAL(38, {types[0].scale})"
        keys = (_pair(*(f"CAST({column} AS {kind})" for column in columns)),)
        return Meeting(keys, _parts(types, columns))
    parts = _parts(types, columns)
    return Meeting(parts, parts)


def _parts(types: tuple[CellType, CellType], columns: Pair) -> tuple[Pair, ...]:
    """Return two expressions that together tell a number's value, whatever its scale.

    No decimal of 38 digits could hold every integer part beside every fraction.
    """
    numbers = [
        column if each.family == "decimal" else f"CAST(CAST({column} AS BIGINT) AS DECIMAL(20, 0))"
        for each, column in zip(types, columns, strict=True)
    ]
    return (
        _pair(*(f"CAST({number} AS DECIMAL(38, 0))" for number in numbers)),
        _pair(*(f"CAST({number} % 1 AS DECIMAL(38, 38))" for number in numbers)),
    )


def _near_floats(types: tuple[CellType, CellType], columns: Pair, tolerance: Tolerance) -> Meeting:
    shapes = _pair(*map(_shape, types, columns))
    values = _pair(*map(_finite, types, columns))
    scales = [each.scale for each in types if each.family == "decimal"]
    half = float(_half_unit(min(scales))) if scales and tolerance.half_unit else 0.0
    within = (
        "abs({gold} - {predicted}) <= "
        f"{_double(half)} + {_double(tolerance.relative)} * abs({{gold}})"
    )
    near = Near(values, values, within, half, tolerance.relative)
    return Meeting((shapes,), (shapes, values), near)


def _near_decimals(types: tuple[CellType, CellType], columns: Pair) -> Meeting:
    shapes = _pair(*map(_shape, types, columns))
    coarse, fine = sorted(each.scale for each in types)
    # One digit less than there can be, so that the difference is exact. What does not fit is NULL.
    values = _pair(*(f"TRY_CAST({column} AS DECIMAL(37, {fine}))" for column in columns))
    half = _half_unit(coarse)
    within = (
        f"abs({{gold}} - {{predicted}}) <= CAST('{half:f}' AS DECIMAL({coarse + 1}, {coarse + 1}))"
    )
    near = Near(values, _pair(*map(_finite, types, columns)), within, float(half), 0.0)
    return Meeting((shapes,), _parts(types, columns), near)


def _only_nulls(columns: Pair) -> Meeting:
    """Compare what is equal only where both are NULL."""
    gold, predicted = columns
    tags = f"IF({gold} IS NULL, NULL, 'gold')", f"IF({predicted} IS NULL, NULL, 'predicted')"
    return Meeting((tags,), (tags,))


def _shape(kind: CellType, column: str) -> str:
    """Return what of a number is compared exactly: whether it is one that tolerance applies to."""
    if kind.family != "float":
        return f"IF({column} IS NULL, 'null', 'number')"
    return (
        f"CASE WHEN {column} IS NULL THEN 'null' WHEN isnan({column}) THEN 'nan' "
        f"WHEN abs({column}) = CAST('inf' AS DOUBLE) THEN IF({column} > 0, 'inf', '-inf') "
        "ELSE 'number' END"
    )


def _finite(kind: CellType, column: str) -> str:
    """Return the number as a double; NULL where tolerance does not apply."""
    double = f"CAST({column} AS DOUBLE)"
    if kind.family != "float":
        return double
    return f"IF({_shape(kind, column)} = 'number', {double}, NULL)"


def _text(kind: CellType, column: str) -> str:
    """Return the text that `normalise` gives."""
    written = f"CAST({column} AS STRING)"
    if kind.family != "timestamp":
        return written
    # Spark drops zeros at the end of a fraction.
    return f"IF(length({written}) = 19, {written}, rpad({written}, 26, '0'))"


def _beyond_float(kind: CellType, column: str) -> str:
    """Return whether a number, made a double, may have changed its value."""
    if kind.family == "float":
        return "false"
    if kind.family == "decimal":
        return f"{column} IS NOT NULL"
    return f"coalesce(abs(CAST(CAST({column} AS BIGINT) AS DOUBLE)) >= {_LARGEST_EXACT}, false)"


def _half_unit(scale: int) -> Decimal:
    return Decimal(5).scaleb(-scale - 1)


def _double(number: float) -> str:
    return f"CAST('{number!r}' AS DOUBLE)"


def _pair(gold: str, predicted: str) -> Pair:
    return gold, predicted
