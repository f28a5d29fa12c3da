"""How an agent goes about a question: what is checked, and where it stops."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["CheckMode", "Recipe"]

CheckMode = Literal["llm", "explain", "both", "off"]


class Recipe(BaseModel):
    """The agent's settings; everything here is part of what is compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("react", description="The recipe's name in records and tables.")
    check: CheckMode = Field(
        "llm",
        description="What check_query does: a checker LLM, the engine's EXPLAIN, both, or off "
        "(the tool is not offered).",
    )
    max_turns: int = Field(
        12, ge=1, description="Controller turns after which a run that ran no query gives up."
    )
    sample_rows: int = Field(
        3, ge=0, le=20, description="Sample rows that get_schema shows unless the model asks."
    )
    run_answer_sql: bool = Field(
        False,
        description="Whether SQL in a final answer that called no tool is extracted and run.",
    )
    observation_chars: int = Field(
        32_000,
        ge=2_000,
        description="Characters that one tool call shows the model at most, a fourth as many "
        "tokens; what is left out is said. The default cuts nothing of a usual schema.",
    )
