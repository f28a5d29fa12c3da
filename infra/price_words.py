"""The numbers and options in what `--machine` takes, read strictly."""

from __future__ import annotations

import math

from bothends.infra.errors import UsageError

__all__ = ["amount", "options"]


def amount(text: str, before: str, value: str) -> float:
    """Return a price or a size.

    Args:
        text: All of what was given.
        before: What stands before the number in it.
        value: The number.

    Raises:
        UsageError: If it is no number, or not one of 0 or more.
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise UsageError(f"{before}{value} in {text}: give a number, 0 or more")
    return number


def options(text: str, query: str, names: tuple[str, ...]) -> dict[str, float]:
    """Return the options behind the question mark, each a number.

    Args:
        text: All of what was given.
        query: What stands behind the question mark.
        names: The options that there are.

    Raises:
        UsageError: If one is unknown, given twice, or no number.
    """
    given: dict[str, float] = {}
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if name not in names:
            raise UsageError(f"{text} has no option {name!r}; the option is: {', '.join(names)}")
        if not equals or name in given:
            raise UsageError(f"option {name!r} of {text} is to be given once, as {name}=value")
        given[name] = amount(text, f"{name}=", value)
    return given
