"""The errors of bothends: one root, typed children, messages that say what to do next."""

from __future__ import annotations

from typing import Final

__all__ = [
    "AmbiguousTableError",
    "BothendsError",
    "CloudError",
    "ContextOverflowError",
    "DataError",
    "EngineError",
    "MissingExtraError",
    "PriceError",
    "ProviderError",
    "RecordError",
    "RefusedError",
    "ReplayError",
    "UnjudgedError",
    "UnknownTableError",
    "UsageError",
    "WithheldError",
]

_NAME_CHARACTERS: Final = 200


class BothendsError(Exception):
    """The root of every error that bothends raises for a reason a user can act on."""


class UsageError(BothendsError):
    """An argument names something that does not exist or does not fit together."""


class MissingExtraError(BothendsError):
    """An optional dependency is not installed.

    Attributes:
        extra: The extra of `bothends` that brings it.
    """

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f"{what} is not installed. Install it with: pip install 'bothends[{extra}]'"
        )


class PriceError(BothendsError):
    """Whoever knows a price does not tell it, or not as it should be."""


class CloudError(BothendsError):
    """A cloud refuses, cannot be reached, or what runs there has ended."""


class DataError(BothendsError):
    """A data set is missing, unreadable, or not the one that was asked for."""


class EngineError(BothendsError):
    """An engine cannot be started, reached, or asked."""


class UnknownTableError(EngineError):
    """A table that the engine's catalog does not hold.

    Attributes:
        table: The name that was asked for.
    """

    def __init__(self, table: str, near: tuple[str, ...], total: int) -> None:
        """Say so, and which tables there are.

        Args:
            table: The name that was asked for.
            near: The names to offer; a model sees them all, so they must be few.
            total: How many tables there are.
        """
        self.table = table
        what = "the tables are:" if total <= len(near) else f"there are {total:,} tables, such as"
        offered = f"{what} {_listed(near, total)}" if near else "the catalog is empty"
        super().__init__(f"table {_cut(table)!r} does not exist; {offered}")


class AmbiguousTableError(UnknownTableError):
    """A table's name that several schemas hold, and not the current one."""

    def __init__(self, table: str, near: tuple[str, ...], total: int) -> None:
        """Say so, and which they are.

        Args:
            table: The name that was asked for.
            near: The tables of this name, with their schemas; few of them.
            total: How many tables have it.
        """
        self.table = table
        EngineError.__init__(
            self,
            f"table {_cut(table)!r} is ambiguous: write one of {_listed(near, total)}",
        )


class ProviderError(BothendsError):
    """A model's provider refused, cannot be reached, or answered nonsense."""


class ContextOverflowError(ProviderError):
    """A conversation outgrew the model's context window: its failure, not the provider's."""


class WithheldError(ProviderError):
    """A content filter stopped a request: asking the same again would end alike."""


class RefusedError(ProviderError):
    """A provider refused the key, the account or the model: every further call would fail alike."""


class RecordError(BothendsError):
    """A run directory cannot be read or written, or belongs to another configuration."""


class ReplayError(BothendsError):
    """A recording does not hold, or does not fit, what is asked of it."""


class UnjudgedError(BothendsError):
    """Whether an executed result is right cannot be told: it is neither right nor wrong."""


def _listed(names: tuple[str, ...], total: int) -> str:
    more = f", and {total - len(names):,} more" if total > len(names) else ""
    return ", ".join(map(_cut, names)) + more


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS else name[: _NAME_CHARACTERS - 1] + "…"
