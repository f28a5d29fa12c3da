"""A bound on how long a search may go on, counted in steps and so the same on every machine."""

from __future__ import annotations

__all__ = ["Effort", "EffortSpentError"]


class EffortSpentError(Exception):
    """The steps that a search was given are used up, and it is not decided."""


class Effort:
    """Steps that may still be taken.

    Args:
        steps: How many; a step is a look at one cell, some tenth of a microsecond.
    """

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Take steps.

        Raises:
            EffortSpentError: If fewer are left.
        """
        self._left -= steps
        if self._left < 0:
            raise EffortSpentError
