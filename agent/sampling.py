"""How models draw their replies: one setting for all, which each provider gets in its own words."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Sampling"]


class Sampling(BaseModel):
    """Sampling parameters; each that is null is left as the provider has it.

    A model's own options, in its name, win over these. What a provider does not expose is left
    out, and is recorded as not set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(None, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(None, gt=0, le=1, description="Nucleus sampling's mass.")
    max_tokens: int | None = Field(None, gt=0, description="Tokens of one reply at most.")
    seed: int | None = Field(None, description="Seed of the provider's draws.")
    reasoning_effort: str | None = Field(
        None,
        min_length=1,
        description="How much a reasoning model thinks, by its provider's levels: low, high, ...",
    )

    def given(self) -> dict[str, float | int | str]:
        """Return what is set, by name."""
        return {name: value for name, value in self if value is not None}
