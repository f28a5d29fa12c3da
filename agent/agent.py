"""The system under test: one question in, one query run, everything metered."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.callbacks import BaseCallbackHandler

from bothends.agent.attempt import Attempt, Ending
from bothends.agent.meter import Meter
from bothends.agent.models.base import Case, Model
from bothends.agent.recipe import Recipe
from bothends.agent.recipes.registry import load_recipe
from bothends.agent.record import AgentRun
from bothends.agent.retry import RetryPolicy
from bothends.engines import Engine, Limits
from bothends.infra.errors import (
    ContextOverflowError,
    ProviderError,
    RefusedError,
    ReplayError,
    UsageError,
    WithheldError,
)
from bothends.infra.prices import Pricing
from bothends.tools.preflight import Preflight
from bothends.tools.text import Redaction

__all__ = ["Agent"]


class Agent:
    """An agent over an engine. It is cheap to make, and keeps nothing of one question to the next.

    Args:
        engine: Where it runs its query.
        model: The controller.
        checker: The LLM inside `check_query`; the controller's model where None.
        recipe: How it goes about a question.
        limits: Time and rows that its query may take.
        retry: How provider faults are retried.
        redaction: What each result cell goes through before a model sees it.
        preflight: What its query is refused for before it runs; None for nothing.

    Raises:
        UsageError: If the recipe has no use for a checker or another setting, or its embeddings
            have no such name.
        MissingExtraError: If the package of its embeddings is not installed.
        ProviderError: If these cannot be set up.
        ReplayError: If a recording is of another recipe.
    """

    def __init__(
        self,
        engine: Engine,
        model: Model,
        *,
        checker: Model | None = None,
        recipe: Recipe | None = None,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        redaction: Redaction | None = None,
        preflight: Preflight | None = None,
    ) -> None:
        self.engine = engine
        self.model = model
        self.checker = checker or model
        self.recipe = recipe or Recipe()
        self.limits = limits or Limits()
        self.retry = retry or RetryPolicy()
        self.redaction = redaction
        self.preflight = preflight
        self.recipe.refuse_idle()
        name = self.recipe.name
        if checker is not None and name != "react":
            raise UsageError(f"recipe {name} checks no query: leave --checker out")
        if model.recipe not in {None, name}:
            raise ReplayError(
                f"{model.label} is a recording of recipe {model.recipe}, and {name} would ask it "
                f"something else: take --recipe {model.recipe}, or record it anew"
            )
        if self.recipe.embeddings is not None:
            self.recipe.embeddings.load()
        self._play = load_recipe(name)

    @property
    def checker_pricing(self) -> Pricing:
        """What the checker's calls are priced by."""
        return self.model.pricing_of(None if self.checker is self.model else self.checker)

    def run(self, case: Case, *, callbacks: Sequence[BaseCallbackHandler] = ()) -> AgentRun:
        """Answer one question.

        Args:
            case: The question, with what scripted and replayed models need to know of it.
            callbacks: LangChain callback handlers that see every call as well.

        Returns:
            What the agent did; a provider's passing fault is a status, never an exception.

        Raises:
            RefusedError: If the provider refuses the key, the account or the model.
            ReplayError: If a recording does not fit the question or the conversation.
            EngineError: If the engine is gone, which no query is to blame for.
        """
        queued_s = self.engine.queued_s
        meter = Meter(self.engine.clock_s)
        attempt = Attempt(
            case=case,
            engine=self.engine,
            model=self.model,
            checker=self.checker,
            recipe=self.recipe,
            limits=self.limits,
            retry=self.retry,
            meter=meter,
            handlers=(meter, *callbacks),
            redaction=self.redaction,
            preflight=self.preflight,
        )
        try:
            ending = self._play(attempt)
        except RefusedError:
            raise
        except ContextOverflowError as error:
            ending = Ending("gave_up", str(error))
        except WithheldError as error:
            ending = Ending("no_query", str(error))
        except ProviderError as error:
            ending = Ending("provider_error", str(error))
        seconds = meter.clock_s()
        return AgentRun(
            status=ending.status,
            sql=attempt.sql,
            outcome=attempt.outcome,
            steps=meter.steps(),
            seconds=seconds,
            error=ending.error,
            ignored_calls=attempt.ignored_calls,
            queue_s=self.engine.queued_s - queued_s,
        )
