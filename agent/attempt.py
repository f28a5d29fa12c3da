"""One attempt at a question: what every recipe works with, and where it leaves its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig

from bothends.agent.meter import Meter
from bothends.agent.models.base import Case, Model
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentStatus
from bothends.agent.replies import is_cut, why_withheld
from bothends.agent.retry import RetryPolicy
from bothends.engines import Engine, Limits, Outcome
from bothends.tools.preflight import Preflight
from bothends.tools.text import Redaction

__all__ = ["Attempt", "Ending", "Play", "ending_of", "no_query"]

_SHOWN_CHARACTERS = 200


class Ending(NamedTuple):
    """How an attempt ended.

    Attributes:
        status: The one status.
        error: Why it ended otherwise than `ok`, in a sentence.
    """

    status: AgentStatus
    error: str | None


@dataclass(slots=True)
class Attempt:
    """What one attempt works with, and where it leaves its result.

    Attributes:
        case: The question.
        engine: Where the query is run.
        model: The controller.
        checker: The LLM inside `check_query`.
        recipe: The settings.
        limits: Time and rows that a query may take.
        retry: How provider faults are retried.
        meter: The trial's meter.
        handlers: Every callback handler, the meter among them.
        redaction: What each result cell goes through before a model sees it.
        preflight: What a query is refused for before it runs; None for nothing.
        sql: The SQL whose outcome counts.
        outcome: What became of it.
        ignored_calls: Calls that stood after `run_query` in its turn.
    """

    case: Case
    engine: Engine
    model: Model
    checker: Model
    recipe: Recipe
    limits: Limits
    retry: RetryPolicy
    meter: Meter
    handlers: Sequence[BaseCallbackHandler]
    redaction: Redaction | None = None
    preflight: Preflight | None = None
    sql: str | None = None
    outcome: Outcome | None = None
    ignored_calls: int = 0

    def config(self) -> RunnableConfig:
        """Return the LangChain configuration of the whole attempt.

        What is called within what is invoked with it finds the handlers by context.
        """
        return RunnableConfig(callbacks=list(self.handlers), run_name="bothends")


Play = Callable[[Attempt], Ending]
"""A recipe in action. It keeps nothing: one serves any number of attempts at the same time.

It raises a provider's faults, which end the attempt.
"""


def ending_of(outcome: Outcome) -> Ending:
    """Return how an attempt ended whose query was run."""
    return Ending(outcome.status, outcome.error)


def no_query(reply: AIMessage) -> Ending:
    """Return how an attempt ended whose last reply led to no query."""
    withheld = why_withheld(reply)
    if withheld is not None:
        return Ending("no_query", withheld)
    answer = " ".join(reply.text.split())
    said = f": {answer[:_SHOWN_CHARACTERS]}" if answer else "; the answer is empty"
    if is_cut(reply):
        return Ending("no_query", f"the reply was cut at its token limit before a query{said}")
    return Ending("no_query", f"the model answered without running a query{said}")
