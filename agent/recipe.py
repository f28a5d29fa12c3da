"""How an agent goes about a question: which recipe it follows, with which settings."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from bothends.agent.embeddings import EmbeddingModel
from bothends.infra.errors import UsageError

__all__ = ["CheckMode", "LinkingMode", "Recipe", "RecipeName"]

RecipeName = Literal["react", "single", "single+correct", "self-consistency"]
CheckMode = Literal["llm", "explain", "both", "off"]
LinkingMode = Literal["none", "lexical", "embedding"]

_Embeddings = Annotated[
    EmbeddingModel | None,
    BeforeValidator(EmbeddingModel.of),
    PlainSerializer(lambda model: model and model.name, return_type=str | None),
]


class Recipe(BaseModel):
    """The agent's settings; everything here is part of what is compared."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: RecipeName = Field(
        "react",
        description="react: a controller with four tools, until its first run_query. single: one "
        "call with the schema in the prompt, whose SQL is run. single+correct: the same, and the "
        "engine's error is told to the model for another draft. self-consistency: several drafts "
        "of single, each run, of which the result that most of them agree on counts.",
    )
    check: CheckMode = Field(
        "llm",
        description="What check_query does: a checker LLM, the engine's EXPLAIN (which tells "
        "errors, cartesian products and tables that are read whole), both, or off (the tool is not "
        "offered). Of react only: the other recipes have no such tool.",
    )
    max_turns: int = Field(
        12,
        ge=1,
        description="Controller turns after which a run that ran no query gives up. Of react only.",
    )
    sample_rows: int = Field(
        3, ge=0, le=20, description="Sample rows that get_schema shows unless the model asks."
    )
    run_answer_sql: bool = Field(
        False,
        description="Whether SQL in a final answer that called no tool is extracted and run. Of "
        "react only: the other recipes always do so.",
    )
    observation_chars: int = Field(
        32_000,
        ge=2_000,
        description="Characters that one tool call shows the model at most, a fourth as many "
        "tokens; what is left out is said. The default cuts nothing of a usual schema. In the "
        "other recipes, what the schema in the prompt takes.",
    )
    linking: LinkingMode = Field(
        "none",
        description="Which tables the prompt shows, in all recipes but react: none shows all that "
        "fit; lexical those whose names, columns and comments share the question's words (BM25); "
        "embedding those whose DDL lies nearest to the question.",
    )
    linking_tables: int = Field(
        8, ge=1, description="How many tables lexical and embedding linking choose at most."
    )
    embeddings: _Embeddings = Field(
        None,
        description="The model of embedding linking: a provider:model that LangChain's "
        "init_embeddings knows, or any LangChain Embeddings object, of which its class and model "
        "are recorded.",
    )
    samples: int = Field(
        5,
        ge=1,
        le=100,
        description="Drafts of self-consistency. They differ only where the model samples: give "
        "it a temperature, since a server of one's own is asked for 0 by default.",
    )
    corrections: int = Field(
        2,
        ge=0,
        le=10,
        description="Rounds of correction at most in single+correct. Only a draft that failed or "
        "was rejected is corrected; a time-out is a bill, and ends the trial.",
    )

    # What is refused under other recipes.
    _OF: ClassVar[dict[str, tuple[str, ...]]] = {
        "check": ("react",),
        "max_turns": ("react",),
        "run_answer_sql": ("react",),
        "linking": ("single", "single+correct", "self-consistency"),
        "samples": ("self-consistency",),
        "corrections": ("single+correct",),
    }

    def refuse_idle(self) -> None:
        """Refuse settings that the recipe has no use for: runs would differ by name alone.

        It is asked of a whole experiment and of an agent, not of every recipe that is made: on the
        way to one, settings come from several places.

        Raises:
            UsageError: If there is one; the message names what goes with it.
        """
        fields = type(self).model_fields
        given = {name for name, value in self if value != fields[name].default}
        for setting, recipes in self._OF.items():
            if setting in given and self.name not in recipes:
                raise UsageError(
                    f"recipe {self.name} has no use for {_option(setting)}, which is of "
                    f"{', '.join(recipes)}: leave it out, or take another --recipe"
                )
        if self.linking == "none" and "linking_tables" in given:
            raise UsageError(
                "--linking-tables says how many tables are chosen, and nothing chooses them: "
                "give --linking lexical or embedding as well"
            )
        if (self.linking == "embedding") != (self.embeddings is not None):
            raise UsageError(
                "--linking embedding and --embeddings provider:model need one another: give both, "
                "or neither"
            )

    def in_words(self) -> str:
        """Return the recipe with the settings that tell it apart, for tables."""
        if self.name == "react":
            return f"react, check {self.check}"
        linking = "all tables"
        if self.linking != "none":
            by = f" by {self.embeddings.name}" if self.embeddings else ""
            linking = f"{self.linking} linking of {self.linking_tables} tables{by}"
        own = {
            "single+correct": f", {self.corrections} corrections at most",
            "self-consistency": f", {self.samples} samples",
        }
        return f"{self.name}{own.get(self.name, '')}, {linking}"


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"
