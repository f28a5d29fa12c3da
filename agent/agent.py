"""The system under test: one question in, one query run, everything metered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from bothends.agent.extract import extract_sql
from bothends.agent.graph import Attempt, build_graph
from bothends.agent.meter import Meter
from bothends.agent.models.base import Case, Model
from bothends.agent.prompts import checker_prompt, controller_prompt, question_prompt
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun, AgentStatus
from bothends.agent.replies import ask_llm, is_cut, why_withheld
from bothends.agent.retry import RetryPolicy
from bothends.engines import Engine, Limits
from bothends.infra.errors import (
    ContextOverflowError,
    ProviderError,
    RefusedError,
    WithheldError,
)
from bothends.infra.prices import Pricing
from bothends.tools import (
    check_query_tool,
    get_schema_tool,
    list_tables_tool,
    run_query_tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable

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
    ) -> None:
        self.engine = engine
        self.model = model
        self.checker = checker or model
        self.recipe = recipe or Recipe()
        self.limits = limits or Limits()
        self.retry = retry or RetryPolicy()
        self._graph = build_graph()

    @property
    def checker_pricing(self) -> Pricing:
        """What the checker's calls are priced by."""
        recorded = self.model.checker_pricing if self.checker is self.model else None
        return recorded or self.checker.pricing

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
        final: AnyMessage | None = None
        try:
            state = self._graph.invoke(
                {"messages": [SystemMessage(prompt), HumanMessage(question_prompt(case.question))]},
                config,
                context=attempt,
            )
            final = state["messages"][-1]
        except RefusedError:
            raise
        except ContextOverflowError as error:
            failure = "gave_up", str(error)
        except WithheldError as error:
            failure = "no_query", str(error)
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
            get_schema_tool(self.engine, self.recipe.sample_rows, characters),
        ]
        if check != "off":
            rewrite = self._rewriter(checker_chat, meter) if check in {"llm", "both"} else None
            tools.append(
                check_query_tool(self.engine, rewrite=rewrite, explain=check in {"explain", "both"})
            )
        return [*tools, run_query_tool(self.engine, self.limits, characters)]

    def _rewriter(self, chat: BaseChatModel, meter: Meter) -> Callable[[str], str]:
        """Return the checker LLM as a function from a query to the query to run."""

        def rewrite(sql: str) -> str:
            prompt = checker_prompt(self.engine.title, sql)
            reply = ask_llm(
                chat,
                [HumanMessage(prompt)],
                role="checker",
                retry=self.retry,
                waited=meter.waited,
            )
            if is_cut(reply) or not reply.text.strip():
                return sql  # half a correction is none
            return extract_sql(reply.text) or reply.text

        return rewrite


def _ending(attempt: Attempt, final: AnyMessage | None) -> tuple[AgentStatus, str | None]:
    """Return the one status that an attempt ended with, and why."""
    if attempt.outcome is not None:
        return attempt.outcome.status, attempt.outcome.error
    if attempt.meter.turn >= attempt.max_turns:
        return "gave_up", f"no query was run within {attempt.max_turns} turns"
    assert isinstance(final, AIMessage)  # noqa: S101 - the controller's, which called no tool
    withheld = why_withheld(final)
    if withheld is not None:
        return "no_query", withheld
    answer = " ".join(final.text.split())
    said = f": {answer[:200]}" if answer else "; the answer is empty"
    if is_cut(final):
        return "no_query", f"the reply was cut at its token limit before it called a tool{said}"
    return "no_query", f"the model answered without running a query{said}"
