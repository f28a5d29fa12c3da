from __future__ import annotations

import pytest

from bothends.agent.textcalls import calls_from_text

TOOLS = ("list_tables", "get_schema", "check_query", "run_query")
RUN = ("run_query", {"sql": "SELECT 1"})
LIST = ("list_tables", {})

CALLS = {
    "bare": ('{"name": "run_query", "arguments": {"sql": "SELECT 1"}}', [RUN]),
    "in prose": (
        'Now I run {"name": "run_query", "arguments": {"sql": "SELECT 1"}} at last.',
        [RUN],
    ),
    "fenced as json": (
        '```json\n{"name": "run_query", "arguments": {"sql": "SELECT 1"}}\n```',
        [RUN],
    ),
    "fenced without a language": ('```\n{"name": "list_tables", "arguments": {}}\n```', [LIST]),
    "several, one a line": (
        '{"name": "list_tables", "arguments": {}}\n'
        '{"name": "run_query", "arguments": {"sql": "SELECT 1"}}',
        [LIST, RUN],
    ),
    "a list": (
        '[{"name": "list_tables", "arguments": {}}, {"name": "get_schema", "arguments": '
        '{"tables": ["a", "b"]}}]',
        [LIST, ("get_schema", {"tables": ["a", "b"]})],
    ),
    "arguments as a JSON string": (
        '{"name": "run_query", "arguments": "{\\"sql\\": \\"SELECT 1\\"}"}',
        [RUN],
    ),
    "openai function": (
        '{"type": "function", "function": {"name": "run_query", "arguments": {"sql": "SELECT 1"}}}',
        [RUN],
    ),
    "openai tool_calls": (
        '{"content": "", "tool_calls": [{"id": "1", "function": {"name": "run_query", '
        '"arguments": "{\\"sql\\": \\"SELECT 1\\"}"}}]}',
        [RUN],
    ),
    "openai function_call": (
        '{"function_call": {"name": "run_query", "arguments": {"sql": "SELECT 1"}}}',
        [RUN],
    ),
    "function as a name": ('{"function": "run_query", "args": {"sql": "SELECT 1"}}', [RUN]),
    "tool and parameters": ('{"tool": "run_query", "parameters": {"sql": "SELECT 1"}}', [RUN]),
    "tool and args": ('{"tool": "run_query", "args": {"sql": "SELECT 1"}}', [RUN]),
    "tool_name and input": ('{"tool_name": "run_query", "input": {"sql": "SELECT 1"}}', [RUN]),
    "beside a thought": (
        '{"thought": "look first", "name": "list_tables", "arguments": {}}',
        [LIST],
    ),
    "hermes tags": (
        '<tool_call>\n{"name": "list_tables", "arguments": {}}\n</tool_call>\n'
        '<tool_call>\n{"name": "run_query", "arguments": {"sql": "SELECT 1"}}\n</tool_call>',
        [LIST, RUN],
    ),
    "a tag left open": ('<tool_call>{"name": "list_tables", "arguments": {}}', [LIST]),
    "doubled braces of a template": (
        '{{"name": "run_query", "arguments": {"sql": "SELECT 1"}}}',
        [RUN],
    ),
    "single key": ('{"run_query": {"sql": "SELECT 1"}}', [RUN]),
    "no arguments": ('{"name": "list_tables"}', [LIST]),
    "null arguments": ('{"name": "list_tables", "arguments": null}', [LIST]),
    "empty arguments string": ('{"name": "list_tables", "arguments": ""}', [LIST]),
    "line breaks in the SQL": (
        '{"name": "run_query", "arguments": {"sql": "SELECT 1\nFROM t\tWHERE a"}}',
        [("run_query", {"sql": "SELECT 1\nFROM t\tWHERE a"})],
    ),
    "braces and quotes in the SQL": (
        '{"name": "run_query", "arguments": {"sql": "SELECT \'{\\"a\\": 1}\'"}}',
        [("run_query", {"sql": "SELECT '{\"a\": 1}'"})],
    ),
    "after broken JSON": (
        '{"name": "run_query", "arguments": {oops}} {"name": "list_tables", "arguments": {}}',
        [LIST],
    ),
    "a known tool after an unknown one": (
        '[{"name": "drop_table", "arguments": {}}, {"name": "list_tables", "arguments": {}}]',
        [LIST],
    ),
    "after thinking of another": (
        '<think>maybe {"name": "run_query", "arguments": {"sql": "SELECT 1"}}?</think>'
        '{"name": "list_tables", "arguments": {}}',
        [LIST],
    ),
}

NOT_CALLS = {
    "nothing": "",
    "prose": "I would call run_query with SELECT 1.",
    "a query": "```sql\nSELECT '{' FROM t\n```",
    "an unknown tool": '{"name": "delete_all", "arguments": {}}',
    "a row whose name is no tool": '{"name": "EUROPE", "arguments": 3}',
    "a result": '[{"region": "EUROPE", "revenue": 12.5}]',
    "arguments alone": '{"sql": "SELECT 1"}',
    "a single key with a plain value": '{"run_query": "SELECT 1"}',
    "a tool's schema": (
        '{"name": "run_query", "description": "Runs a query.", "parameters": '
        '{"type": "object", "properties": {"sql": {"type": "string"}}}}'
    ),
    "arguments that are a list": '{"name": "run_query", "arguments": ["SELECT 1"]}',
    "arguments that are prose": '{"name": "run_query", "arguments": "SELECT 1"}',
    "a call inside other data": '{"history": [{"name": "list_tables", "arguments": {}}]}',
    "an object cut short": '{"name": "run_query", "arguments": {"sql": "SELECT 1',
    "a JSON list of lists": "[[1, 2], [3]]",
}


@pytest.mark.parametrize(("text", "expected"), CALLS.values(), ids=CALLS)
def test_calls(text: str, expected: list[tuple[str, dict[str, object]]]) -> None:
    found = calls_from_text(text, TOOLS)
    assert [(call.name, call.arguments) for call in found] == expected


@pytest.mark.parametrize("text", NOT_CALLS.values(), ids=NOT_CALLS)
def test_not_calls(text: str) -> None:
    assert calls_from_text(text, TOOLS) == ()


def test_text_that_nests_without_end_is_no_call() -> None:
    assert calls_from_text('{"a":' * 3000, TOOLS) == ()
