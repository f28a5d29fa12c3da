from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from bothends.agent.models.base import Case, Model
from bothends.engines import Engine, open_engine
from bothends.infra.prices import NoPricing

Reply = AIMessage | BaseException


class TellingModel(BaseChatModel):
    """Answers with what it was given, in order; remembers what it was asked."""

    controller: list[Any]
    checker: list[Any]
    seen: list[Any]

    @property
    def _llm_type(self) -> str:
        return "telling"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[tool.name for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.seen.append(messages)
        reply = (self.controller if "tools" in kwargs else self.checker).pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply)])


def calling(
    *calls: tuple[str, dict[str, Any]], usage: tuple[int, int] | None = None, text: str = ""
) -> AIMessage:
    """A reply that calls tools."""
    message = AIMessage(
        text,
        tool_calls=[
            {"name": name, "args": arguments, "id": f"call_{i}", "type": "tool_call"}
            for i, (name, arguments) in enumerate(calls)
        ],
    )
    return with_usage(message, usage)


def with_usage(message: AIMessage, usage: tuple[int, int] | None) -> AIMessage:
    if usage is not None:
        message.usage_metadata = {
            "input_tokens": usage[0],
            "output_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return message


@pytest.fixture
def call() -> Callable[..., AIMessage]:
    return calling


@pytest.fixture
def telling() -> Callable[..., Model]:
    """Make a model that answers with the given replies."""

    def make(
        controller: Sequence[Reply], checker: Sequence[Reply] = (), *, text_calls: bool = False
    ) -> Model:
        chat = TellingModel(controller=list(controller), checker=list(checker), seen=[])
        return Model(
            spec="test:telling",
            label="telling",
            kind="scripted",
            description="A model of the tests.",
            pricing=NoPricing("a test"),
            text_calls=text_calls,
            chat=lambda _: chat,
        )

    return make


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Engine]:
    """A database of two tables on SQLite."""
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL);
            CREATE TABLE sale (item_id INTEGER REFERENCES item, amount INTEGER);
            INSERT INTO item VALUES (1, 'nut', 0.5), (2, 'bolt', 0.75), (3, 'saw', NULL);
            INSERT INTO sale VALUES (1, 10), (1, 5), (2, 4);
            """
        )
    connection.close()
    with open_engine(f"sqlite:///{file}") as engine:
        yield engine


@pytest.fixture
def case() -> Case:
    return Case("q1", "How many items are there?", 0, "SELECT COUNT(*) AS n FROM item", "sqlite")
