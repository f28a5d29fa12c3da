"""Which columns of gold can have which columns of a result, each one of its own."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Options", "families", "pair"]

Options = Mapping[int, list[int]]
"""For each column of gold the columns of the result that may stand for it."""


def families(options: Options) -> list[tuple[list[int], list[int]]]:
    """Gather the columns that share options, directly or through others, with their options."""
    families: list[tuple[set[int], set[int]]] = []
    for column, choices in options.items():
        joined: tuple[set[int], set[int]] = {column}, set(choices)
        rest = []
        for family in families:
            if family[1].isdisjoint(joined[1]):
                rest.append(family)
            else:
                joined = joined[0] | family[0], joined[1] | family[1]
        families = [*rest, joined]
    return [(sorted(columns), sorted(choices)) for columns, choices in families]


def pair(options: Options) -> dict[int, int]:
    """Give as many columns as possible an option of their own (Kuhn's augmenting paths)."""
    holder: dict[int, int] = {}

    def place(column: int, seen: set[int]) -> bool:
        for option in options[column]:
            if option in seen:
                continue
            seen.add(option)
            if option not in holder or place(holder[option], seen):
                holder[option] = column
                return True
        return False

    for column in options:
        place(column, set())
    return {column: option for option, column in holder.items()}
