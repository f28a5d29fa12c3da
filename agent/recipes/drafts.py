"""Drafts: what the recipes without tools are made of. A model is shown the schema, and writes SQL.

An LLM call that writes a draft is noted as a call of `run_query`, which then runs it: the turn
belongs to the stage `run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool

from bothends.agent.attempt import Attempt, Ending, Play, ending_of, no_query
from bothends.agent.extract import extract_sql
from bothends.agent.linking import LinkReport, link_tables_tool, linking_arguments
from bothends.agent.prompts import single_prompt
from bothends.agent.record import ToolCall
from bothends.agent.replies import ask_llm, is_cut
from bothends.engines import Outcome
from bothends.tools import ToolReport, get_schema_tool, run_query_tool

__all__ = ["Draft", "Drafter", "ending_with", "in_one_run"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply, and what became of the SQL in it.

    Attributes:
        reply: The reply.
        sql: The SQL in it, or None where there is none.
        outcome: What became of it, or None where there is none.
        observation: What `run_query` said of it.
    """

    reply: AIMessage
    sql: str | None = None
    outcome: Outcome | None = None
    observation: str = ""


class Drafter:
    """Has drafts written and runs each. For one attempt.

    Args:
        attempt: The attempt, played as `in_one_run` plays it.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._chat: BaseChatModel = attempt.model.chat(attempt.case)
        self._run_query = run_query_tool(
            attempt.engine,
            attempt.limits,
            attempt.recipe.observation_chars,
            attempt.redaction,
            attempt.preflight,
        )

    def prompt(self) -> list[BaseMessage]:
        """Link the tables and read their schema; return the conversation that asks for a draft.

        Raises:
            EngineError: If the engine cannot say which tables it has.
            ProviderError: If the tables are linked by embeddings, and their provider fails.
        """
        attempt = self._attempt
        engine, recipe = attempt.engine, attempt.recipe
        question = attempt.case.question.strip()
        linking = link_tables_tool(engine, recipe, attempt.retry)
        linked = self._call(linking, linking_arguments(recipe, question)).artifact
        assert isinstance(linked, LinkReport)  # noqa: S101 - what that tool returns
        schema = "(there are none)"
        if linked.tables:
            reading = get_schema_tool(
                engine, recipe.sample_rows, recipe.observation_chars, attempt.redaction
            )
            schema = self._call(reading, {"tables": list(linked.tables)}).text
        system = single_prompt(engine.title, schema, shown=len(linked.tables), total=linked.total)
        return [SystemMessage(system), HumanMessage(question)]

    def draft(self, messages: Sequence[BaseMessage]) -> Draft:
        """Have one draft written, and run it.

        Args:
            messages: The conversation.

        Raises:
            ProviderError: If the provider fails.
        """
        attempt = self._attempt
        reply = ask_llm(
            self._chat,
            messages,
            role="controller",
            retry=attempt.retry,
            waited=attempt.meter.waited,
        )
        draft = Draft(reply)
        # A query that was cut short may still be one, and another than was meant.
        sql = None if is_cut(reply) else extract_sql(reply.text, attempt.engine.dialect)
        if sql is not None:
            attempt.meter.called(
                [ToolCall(name=self._run_query.name, arguments={"sql": sql})], from_text=0
            )
            message = self._call(self._run_query, {"sql": sql})
            report = message.artifact
            assert isinstance(report, ToolReport)  # noqa: S101 - what that tool returns
            draft = Draft(reply, sql, report.outcome, message.text)
        attempt.meter.turn += 1
        return draft

    def _call(self, tool: BaseTool, arguments: dict[str, object]) -> ToolMessage:
        call = {"name": tool.name, "args": arguments, "id": str(uuid4()), "type": "tool_call"}
        message = tool.invoke(call)  # callbacks come by context
        assert isinstance(message, ToolMessage)  # noqa: S101 - what invoking with a call returns
        return message


def ending_with(attempt: Attempt, draft: Draft) -> Ending:
    """Let a draft's outcome be the attempt's, and return how it ended.

    Args:
        attempt: The attempt.
        draft: The draft that counts.
    """
    if draft.outcome is None:
        return no_query(draft.reply)
    attempt.sql, attempt.outcome = draft.sql, draft.outcome
    return ending_of(draft.outcome)


def in_one_run(play: Play) -> Play:
    """Return a recipe all of whose calls are one LangChain run, seen by the attempt's handlers.

    Args:
        play: The recipe.
    """

    def played(attempt: Attempt) -> Ending:
        # Handlers are shown the question, as they are shown the graph's input.
        run: RunnableLambda[str, Ending] = RunnableLambda(lambda _: play(attempt))
        return run.invoke(attempt.case.question, attempt.config())

    return played
