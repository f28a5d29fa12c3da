"""The errors of bothends: one root, typed children, messages that say what to do next."""

from __future__ import annotations

__all__ = [
    "BothendsError",
    "ContextOverflowError",
    "DataError",
    "EngineError",
    "MissingExtraError",
    "ProviderError",
    "RecordError",
    "RefusedError",
    "ReplayError",
    "UnjudgedError",
    "UnknownTableError",
    "UsageError",
]


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


class DataError(BothendsError):
    """A data set is missing, unreadable, or not the one that was asked for."""


class EngineError(BothendsError):
    """An engine cannot be started, reached, or asked."""


class UnknownTableError(EngineError):
    """A table that the engine's catalog does not hold.

    Attributes:
        table: The name that was asked for.
    """

    def __init__(self, table: str, known: tuple[str, ...]) -> None:
        self.table = table
        super().__init__(f"table {table!r} does not exist; the tables are: {', '.join(known)}")


class ProviderError(BothendsError):
    """A model's provider refused, cannot be reached, or answered nonsense."""


class ContextOverflowError(ProviderError):
    """A conversation outgrew the model's context window: its failure, not the provider's."""


class RefusedError(ProviderError):
    """A provider refused the key, the account or the model: every further call would fail alike."""


class RecordError(BothendsError):
    """A run directory cannot be read or written, or belongs to another configuration."""


class ReplayError(BothendsError):
    """A recording does not hold, or does not fit, what is asked of it."""


class UnjudgedError(BothendsError):
    """Whether an executed result is right cannot be told: it is neither right nor wrong."""
