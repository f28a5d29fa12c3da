"""`react`: a graph of a controller and its tools, which ends after the first `run_query`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages import ToolCall as LangChainToolCall
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import ValidationError

from bothends.agent.attempt import Attempt, Ending, Play, ending_of, no_query
from bothends.agent.extract import extract_sql
from bothends.agent.prompts import checker_prompt, controller_prompt, question_prompt
from bothends.agent.record import ToolCall
from bothends.agent.replies import ask_llm, is_cut
from bothends.agent.textcalls import calls_from_text
from bothends.infra.errors import ProviderError, ReplayError
from bothends.tools import (
    ToolReport,
    check_query_tool,
    get_schema_tool,
    list_tables_tool,
    run_query_tool,
)

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

__all__ = ["prepare"]

_SHOWN_ERROR_CHARACTERS = 1000
_SHOWN_ARGUMENT_CHARACTERS = 200


class _State(TypedDict):
    """The conversation."""

    messages: Annotated[list[AnyMessage], add_messages]


@dataclass(slots=True)
class _Run:
    """What one run of the graph works with.

    Attributes:
        attempt: The attempt, where it leaves its result.
        controller: The controller, with the tools bound to it.
        tools: The tools by name.
    """

    attempt: Attempt
    controller: Runnable[LanguageModelInput, AIMessage]
    tools: Mapping[str, BaseTool]


if TYPE_CHECKING:
    _Graph = CompiledStateGraph[_State, _Run, _State, _State]


def prepare() -> Play:
    """Return the recipe; its graph is compiled once, and each attempt has a context of its own."""
    graph = _build_graph()
    return lambda attempt: _play(graph, attempt)


def _play(graph: _Graph, attempt: Attempt) -> Ending:
    recipe, title = attempt.recipe, attempt.engine.title
    chat = attempt.model.chat(attempt.case)
    checker_chat = chat if attempt.checker is attempt.model else attempt.checker.chat(attempt.case)
    tools = {tool.name: tool for tool in _make_tools(attempt, checker_chat)}
    system = SystemMessage(controller_prompt(title, check=recipe.check != "off"))
    state = graph.invoke(
        {"messages": [system, HumanMessage(question_prompt(attempt.case.question))]},
        # Two node visits a turn; the step limit is ours, counted in turns.
        {**attempt.config(), "recursion_limit": 2 * recipe.max_turns + 2},
        context=_Run(attempt, chat.bind_tools(list(tools.values())), tools),
    )
    if attempt.outcome is not None:
        return ending_of(attempt.outcome)
    if attempt.meter.turn >= recipe.max_turns:
        return Ending("gave_up", f"no query was run within {recipe.max_turns} turns")
    final = state["messages"][-1]
    assert isinstance(final, AIMessage)  # noqa: S101 - the controller's, which called no tool
    return no_query(final)


def _make_tools(attempt: Attempt, checker_chat: BaseChatModel) -> list[BaseTool]:
    engine, recipe = attempt.engine, attempt.recipe
    check, characters = recipe.check, recipe.observation_chars
    tools = [
        list_tables_tool(engine, characters),
        get_schema_tool(engine, recipe.sample_rows, characters, attempt.redaction),
    ]
    if check != "off":
        rewrite = _rewriter(attempt, checker_chat) if check in {"llm", "both"} else None
        tools.append(
            check_query_tool(
                engine,
                rewrite=rewrite,
                explain=check in {"explain", "both"},
                preflight=attempt.preflight,
            )
        )
    running = run_query_tool(
        engine, attempt.limits, characters, attempt.redaction, attempt.preflight
    )
    return [*tools, running]


def _rewriter(attempt: Attempt, chat: BaseChatModel) -> Callable[[str], str]:
    """Return the checker LLM as a function from a query to the query to run."""

    def rewrite(sql: str) -> str:
        prompt = checker_prompt(attempt.engine.title, sql)
        reply = ask_llm(
            chat,
            [HumanMessage(prompt)],
            role="checker",
            retry=attempt.retry,
            waited=attempt.meter.waited,
        )
        if is_cut(reply) or not reply.text.strip():
            return sql  # half a correction is none
        return extract_sql(reply.text, attempt.engine.dialect) or reply.text

    return rewrite


def _build_graph() -> _Graph:
    graph = StateGraph(_State, context_schema=_Run)
    graph.add_node("controller", _controller)
    graph.add_node("tools", _tools)
    graph.add_edge(START, "controller")
    graph.add_conditional_edges("controller", _after_controller, ["tools", END])
    graph.add_conditional_edges("tools", _after_tools, ["controller", END])
    return graph.compile()


def _controller(state: _State, runtime: Runtime[_Run]) -> dict[str, Any]:
    """Ask the controller for its next move."""
    run = runtime.context
    attempt = run.attempt
    reply = ask_llm(
        run.controller,
        state["messages"],
        role="controller",
        retry=attempt.retry,
        waited=attempt.meter.waited,
    )
    reply, from_text = _with_all_calls(reply, run)
    attempt.meter.called(
        [ToolCall(name=call["name"], arguments=call["args"]) for call in reply.tool_calls]
        + [ToolCall(name=call["name"] or "") for call in reply.invalid_tool_calls],
        from_text=from_text,
    )
    return {"messages": [reply]}


def _with_all_calls(reply: AIMessage, run: _Run) -> tuple[AIMessage, int]:
    """Add the calls that a reply makes in its text; return how many they were."""
    if reply.tool_calls or reply.invalid_tool_calls:
        return reply, 0
    attempt = run.attempt
    calls: Sequence[ToolCall] = ()
    if attempt.model.text_calls:
        calls = calls_from_text(reply.text, run.tools)
    from_text = len(calls)
    # A query that was cut short may still be one, and another than was meant.
    if not calls and attempt.recipe.run_answer_sql and not is_cut(reply):
        sql = extract_sql(reply.text, attempt.engine.dialect)
        calls = (ToolCall(name="run_query", arguments={"sql": sql}),) if sql else ()
    if not calls:
        return reply, 0
    made = [
        LangChainToolCall(
            name=call.name,
            args=call.arguments,
            id=f"text_{attempt.meter.turn}_{i}",
            type="tool_call",
        )
        for i, call in enumerate(calls)
    ]
    # A call that stood in the text is sent back as a call alone: a model that saw its own words
    # beside it would take them for the way to go on.
    said = {"content": ""} if from_text else {}
    return reply.model_copy(update={"tool_calls": made, **said}), from_text


def _tools(state: _State, runtime: Runtime[_Run]) -> dict[str, Any]:
    """Make the calls in their order, up to the first `run_query`."""
    run = runtime.context
    attempt = run.attempt
    reply = state["messages"][-1]
    assert isinstance(reply, AIMessage)  # noqa: S101 - the edges lead here from the controller only
    answers: list[AnyMessage] = []
    if reply.invalid_tool_calls:
        mended, answers = _refuse_invalid(attempt, reply)
        answers.insert(0, mended)
    for position, call in enumerate(reply.tool_calls):
        tool = run.tools.get(call["name"])
        if tool is None:
            known = ", ".join(run.tools)
            problem = f"there is no tool {call['name']!r}; the tools are: {known}"
            answers.append(_refuse(attempt, call["name"], call["args"], call["id"], problem))
            continue
        message = _call(tool, call)
        answers.append(message)
        report = message.artifact
        if isinstance(report, ToolReport) and report.outcome is not None:
            attempt.sql, attempt.outcome = report.sql, report.outcome
            attempt.ignored_calls = len(reply.tool_calls) - position - 1
            break
    attempt.meter.turn += 1
    return {"messages": answers}


def _refuse_invalid(attempt: Attempt, reply: AIMessage) -> tuple[AIMessage, list[AnyMessage]]:
    """Answer the calls whose arguments are not JSON.

    Returns:
        The reply with empty arguments in these calls, since many servers refuse a conversation
        that holds others, and the answers.
    """
    cut = "; the reply ended at its token limit: write a shorter one" if is_cut(reply) else ""
    made: list[LangChainToolCall] = []
    answers: list[AnyMessage] = []
    for i, call in enumerate(reply.invalid_tool_calls):
        name, written = call["name"] or "", call["args"] or ""
        call_id = call["id"] or f"invalid_{attempt.meter.turn}_{i}"
        made.append(LangChainToolCall(name=name, args={}, id=call_id, type="tool_call"))
        shown = written[:_SHOWN_ARGUMENT_CHARACTERS]
        problem = f"the arguments are not valid JSON{cut}: {shown}"
        answers.append(_refuse(attempt, name, {}, call_id, problem))
    update = {"tool_calls": [*made, *reply.tool_calls], "invalid_tool_calls": []}
    return reply.model_copy(update=update), answers


def _call(tool: BaseTool, call: LangChainToolCall) -> ToolMessage:
    try:
        message = tool.invoke({**call, "type": "tool_call"})  # callbacks come by context
    except (ProviderError, ReplayError):
        raise  # the checker's model failed, which is no fault of the query
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        text = f"error: the arguments do not fit {tool.name}: {problems}"[:_SHOWN_ERROR_CHARACTERS]
        return ToolMessage(text, tool_call_id=call["id"], name=tool.name, status="error")
    except Exception as error:  # a tool's error is an observation, not a crash
        text = f"error: {type(error).__name__}: {error}"[:_SHOWN_ERROR_CHARACTERS]
        return ToolMessage(text, tool_call_id=call["id"], name=tool.name, status="error")
    assert isinstance(message, ToolMessage)  # noqa: S101 - what invoking with a call returns
    return message


def _refuse(
    attempt: Attempt, name: str, arguments: dict[str, Any], call_id: str | None, problem: str
) -> ToolMessage:
    attempt.meter.refused(name, arguments, problem)
    return ToolMessage(f"error: {problem}", tool_call_id=call_id or "", name=name, status="error")


def _after_controller(state: _State) -> str:
    reply = state["messages"][-1]
    assert isinstance(reply, AIMessage)  # noqa: S101 - the edge leaves the controller
    return "tools" if reply.tool_calls or reply.invalid_tool_calls else END


def _after_tools(_: _State, runtime: Runtime[_Run]) -> str:
    attempt = runtime.context.attempt
    done = attempt.outcome is not None or attempt.meter.turn >= attempt.recipe.max_turns
    return END if done else "controller"
