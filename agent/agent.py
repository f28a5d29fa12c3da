"""The system under test: one question in, one query run, everything metered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from bothends.agent.extract import extract_sql
from bothends.agent.graph import Attempt, build_graph
from bothends.agent.meter import ROLE, Meter
from bothends.agent.models.base import Case, Model
from bothends.agent.prompts import checker_prompt, controller_prompt, question_prompt
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun, AgentStatus
from bothends.agent.retry import RetryPolicy, call_with_retry
from bothends.engines import Engine, Limits
from bothends.infra.errors import ContextOverflowError, ProviderError, RefusedError
from bothends.tools import (
    check_query_tool,
    get_schema_tool,
    list_tables_tool,
    run_query_tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bothends.tools.text import Redaction

__all__ = ["Agent"]


class Agent:
    """A ReAct agent over an engine; it ends after the first `run_query`, whatever that returns.

    Args:
        engine: Where it runs its query.
        model: The controller.
        checker: The LLM inside `check_query`; the controller's model where None.
        recipe: How it goes about a question.
        limits: Time and rows that its query may take.
        retry: How provider faults are retried.
        redaction: What each result cell goes through before a model sees it.
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
    ) -> None:
        self.engine = engine
        self.model = model
        self.checker = checker or model
        self.recipe = recipe or Recipe()
        self.limits = limits or Limits()
        self.retry = retry or RetryPolicy()
        self.redaction = redaction
        self._graph = build_graph()

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
        """
        recipe = self.recipe
        chat = self.model.chat(case)
        checker_chat = chat if self.checker is self.model else self.checker.chat(case)
        queued_s = self.engine.queued_s
        meter = Meter(self.engine.clock_s)
        tools = {tool.name: tool for tool in self._tools(checker_chat, meter)}
        attempt = Attempt(
            controller=chat.bind_tools(list(tools.values())),
            tools=tools,
            meter=meter,
            retry=self.retry,
            max_turns=recipe.max_turns,
            text_calls=self.model.text_calls,
            run_answer_sql=recipe.run_answer_sql,
        )
        prompt = controller_prompt(self.engine.title, check=recipe.check != "off")
        config = RunnableConfig(
            callbacks=[meter, *callbacks],
            run_name="bothends",
            # Two node visits a turn; the step limit is ours, counted in turns.
            recursion_limit=2 * recipe.max_turns + 2,
        )
        failure: tuple[AgentStatus, str] | None = None
        final = ""
        try:
            state = self._graph.invoke(
                {"messages": [SystemMessage(prompt), HumanMessage(question_prompt(case.question))]},
                config,
                context=attempt,
            )
            final = state["messages"][-1].text
        except RefusedError:
            raise
        except ContextOverflowError as error:
            failure = "gave_up", str(error)
        except ProviderError as error:
            failure = "provider_error", str(error)
        seconds = meter.clock_s()
        status, error_text = failure or _ending(attempt, final)
        return AgentRun(
            status=status,
            sql=attempt.sql,
            outcome=attempt.outcome,
            steps=meter.steps(),
            seconds=seconds,
            error=error_text,
            ignored_calls=attempt.ignored_calls,
            queue_s=self.engine.queued_s - queued_s,
        )

    def _tools(self, checker_chat: BaseChatModel, meter: Meter) -> list[BaseTool]:
        check, characters = self.recipe.check, self.recipe.observation_chars
        tools = [
            list_tables_tool(self.engine, characters),
            get_schema_tool(self.engine, self.recipe.sample_rows, characters, self.redaction),
        ]
        if check != "off":
            rewrite = self._rewriter(checker_chat, meter) if check in {"llm", "both"} else None
            tools.append(
                check_query_tool(self.engine, rewrite=rewrite, explain=check in {"explain", "both"})
            )
        return [*tools, run_query_tool(self.engine, self.limits, characters, self.redaction)]

    def _rewriter(self, chat: BaseChatModel, meter: Meter) -> Callable[[str], str]:
        """Return the checker LLM as a function from a query to the query to run."""

        def rewrite(sql: str) -> str:
            prompt = checker_prompt(self.engine.title, sql)
            reply = call_with_retry(
                lambda: chat.invoke(
                    [HumanMessage(prompt)], RunnableConfig(metadata={ROLE: "checker"})
                ),
                self.retry,
                on_wait=lambda seconds, _: meter.waited(seconds),
            )
            return extract_sql(reply.text) or reply.text

        return rewrite


def _ending(attempt: Attempt, final: str) -> tuple[AgentStatus, str | None]:
    """Return the one status that an attempt ended with, and why."""
    if attempt.outcome is not None:
        return attempt.outcome.status, attempt.outcome.error
    if attempt.meter.turn >= attempt.max_turns:
        return "gave_up", f"no query was run within {attempt.max_turns} turns"
    answer = " ".join(final.split())
    said = f": {answer[:200]}" if answer else "; the answer is empty"
    return "no_query", f"the model answered without running a query{said}"
