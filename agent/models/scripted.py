"""A model that plays a script: real tool calls through the real graph, and no intelligence."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from bothends.agent.models.base import Case, Model
from bothends.agent.models.pricing import stated_pricing
from bothends.agent.models.role import role_of
from bothends.agent.models.scripts import SCRIPTS, draw_script, tables_of
from bothends.agent.tokens import count_tokens, estimate_usage
from bothends.infra.errors import UsageError
from bothends.infra.prices import NoPricing, TokenPricing

if TYPE_CHECKING:
    from bothends.agent.models.spec import ModelSpec
    from bothends.infra.prices import PriceBook

__all__ = ["ScriptedChatModel", "load"]

_SQL_BLOCK = re.compile(r"```sql\n(.*?)\n?```", re.DOTALL)


class ScriptedChatModel(BaseChatModel):
    """Plays a script. Its turn is the number of replies in the conversation.

    As a controller without tools it answers with a draft, the next of its script's each time that
    it is asked in one trial. As the checker it writes the SQL of the prompt again unchanged.

    Attributes:
        model_name: What it is called in records.
        plan: The tools it calls, one a turn; those that are not bound are left out.
        endless: Whether it calls the last of them for ever.
        drafts: Its queries: the first wherever it has tools, all in turn where it has none.
        tables: The tables whose schema it reads.
        counts_tokens: Whether tokens are counted, so that they can be priced.
    """

    model_name: str
    plan: tuple[str, ...]
    endless: bool
    drafts: tuple[str, ...]
    tables: tuple[str, ...]
    counts_tokens: bool

    _drafted: int = PrivateAttr(default=0)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    prose: ClassVar[str] = "The tables hold what the question asks for; the answer is in them."

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - a script knows what it calls
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with these tools at its hand."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools: list[dict[str, Any]] = kwargs.get("tools") or []
        if tools:
            reply = self._next_move(messages, tools)
        elif role_of(run_manager, kwargs) == "controller":
            reply = self._next_draft()
        else:
            reply = _echo(messages)
        if self.counts_tokens:
            reply.usage_metadata = estimate_usage(messages, reply, tools)
            reply.response_metadata["bothends"] = {"estimated": True}
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _next_move(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        bound = {tool["function"]["name"] for tool in tools}
        plan = [name for name in self.plan if name in bound]
        turn = sum(isinstance(message, AIMessage) for message in messages)
        if self.endless and plan:
            name = plan[min(turn, len(plan) - 1)]
        elif turn < len(plan):
            name = plan[turn]
        else:
            return AIMessage(self.prose)
        arguments: dict[str, Any] = {}
        if name == "get_schema":
            arguments = {"tables": list(self.tables)}
        elif name in {"check_query", "run_query"}:
            arguments = {"sql": self.drafts[0]}
        call = {"name": name, "args": arguments, "id": f"call_{turn}", "type": "tool_call"}
        return AIMessage("", tool_calls=[call])

    def _next_draft(self) -> AIMessage:
        if "run_query" not in self.plan:
            return AIMessage(self.prose)
        with self._lock:
            position, self._drafted = self._drafted, self._drafted + 1
        return AIMessage(f"```sql\n{self.drafts[position % len(self.drafts)]}\n```")


def _echo(messages: list[BaseMessage]) -> AIMessage:
    asked = next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), "")
    queries: list[str] = _SQL_BLOCK.findall(asked)
    return AIMessage(f"```sql\n{queries[-1] if queries else ''}\n```")


def load(spec: ModelSpec, prices: PriceBook) -> Model:
    """Return a scripted model.

    Raises:
        UsageError: If there is no such script, or it takes no such option.
    """
    script = SCRIPTS.get(spec.model)
    if script is None:
        raise UsageError(
            f"there is no script {spec.model!r}; the scripts are: {', '.join(SCRIPTS)}"
        )
    flaky = spec.model == "flaky"
    spec.admit("label", "price_as", *(("p", "seed") if flaky else ()))
    p = 0.5 if spec.options.p is None else spec.options.p
    seed = spec.options.seed or 0
    pricing = stated_pricing(spec, prices)
    label = f"{spec.provider}:{spec.model}" + (f" p={p:g} seed={seed}" if flaky else "")

    def chat(case: Case) -> BaseChatModel:
        if case.gold_sql is None:
            raise UsageError(
                f"{spec.text} is told the gold SQL: scripted models need a question of a suite"
            )
        name = draw_script(seed, case.question_id, case.replica, p) if flaky else spec.model
        gold = case.gold_sql.strip().rstrip(";")
        return ScriptedChatModel(
            model_name=spec.text,
            plan=SCRIPTS[name].plan,
            endless=SCRIPTS[name].endless,
            drafts=tuple(query(gold, case.dialect) for query in SCRIPTS[name].queries),
            tables=tables_of(gold, case.dialect),
            counts_tokens=pricing is not None,
        )

    priced = (
        f"tokens counted here and priced as {pricing.provider}:{pricing.model}"
        if isinstance(pricing, TokenPricing)
        else "its tokens are not counted"
    )
    if pricing is not None:
        count_tokens("")  # loads the vocabulary now: not in the first trial's seconds
    does = script.description.format(p=f"{p:g}")
    return Model(
        spec=spec.text,
        label=spec.options.label or label,
        kind="scripted",
        description=f"A script, not a model: {does}; {priced}.",
        pricing=pricing or NoPricing("a script, not a model"),
        text_calls=False,
        chat=chat,
    )
