"""What a person is shown of two conversations that differ."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from bothends.agent.models.difference import first_difference
from bothends.agent.models.recording import Message

RECORDED = (Message(type="human", text="How many?"), Message(type="tool", text="a" * 50 + "item"))


def tool(text: str) -> BaseMessage:
    return ToolMessage(text, tool_call_id="1")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ([HumanMessage("How many?"), tool("a" * 50 + "item")], None),
        (
            [HumanMessage("How much?"), tool("whatever")],
            "message 1 (human) differs from character 6 on: 'How many?' was recorded, 'How much?' "
            "is there now",
        ),
        (
            [HumanMessage("How many?"), tool("a" * 50 + "sale" + "b" * 50)],
            "message 2 (tool) differs from character 51 on: …'aaaaaaaaaaaaitem' was recorded, "
            "…'aaaaaaaaaaaasalebbbbbbbbbbbbbbbbbbbbbbbb'… is there now",
        ),
        (
            [HumanMessage("How many?"), tool("a" * 50 + "items")],
            "message 2 (tool) differs from character 55 on: …'aaaaaaaaitem' was recorded, "
            "…'aaaaaaaaitems' is there now",
        ),
        (
            [HumanMessage("How many?"), AIMessage("a")],
            "message 2 is of type ai, and the recorded one tool",
        ),
        ([HumanMessage("How many?")], "it holds no message 2, unlike the recorded one"),
        (
            [HumanMessage("How many?"), tool("a" * 50 + "item"), tool("")],
            "it holds a message 3, unlike the recorded one",
        ),
    ],
)
def test_the_first_difference(now: list[BaseMessage], said: str | None) -> None:
    assert first_difference(RECORDED, now) == said
