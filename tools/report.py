"""What a tool hands back beside the text that the model sees."""

from __future__ import annotations

from dataclasses import dataclass

from bothends.engines import Outcome

__all__ = ["ToolReport"]


@dataclass(frozen=True, slots=True)
class ToolReport:
    """The artifact of a tool call.

    Attributes:
        engine_s: Seconds in which the engine worked.
        error: What went wrong, or None; the model sees it as the observation.
        sql: The query, for `check_query` and `run_query`.
        outcome: What became of the query, for `run_query`.
        sampled: What became of the samples that it had taken, for `get_schema`.
        tokens: Tokens that it had embedded, counted here; None where it embeds nothing.
        priced_as: The `provider:model` that these are priced as; None where they cost nothing.
    """

    engine_s: float = 0.0
    error: str | None = None
    sql: str | None = None
    outcome: Outcome | None = None
    sampled: tuple[Outcome, ...] = ()
    tokens: int | None = None
    priced_as: str | None = None
