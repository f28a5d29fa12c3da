"""The agent over a real engine, driven by replies that the tests choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.recipe import Recipe, RecipeName
from bothends.agent.retry import RetryPolicy
from bothends.engines import Engine, Limits, Outcome
from bothends.engines.facts import EngineFacts
from bothends.engines.sqlite import SqliteEngine
from bothends.infra.errors import RefusedError

Telling = Callable[..., Model]
Call = Callable[..., AIMessage]

COUNT = "SELECT COUNT(*) AS n FROM item"
CHECKED = f"The query is checked. Now call run_query with it:\n\n{COUNT}"


def test_ends_after_the_first_run_query(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    model = telling(
        [
            call(("list_tables", {})),
            call(("get_schema", {"tables": ["item"]})),
            call(("check_query", {"sql": COUNT})),
            call(("run_query", {"sql": COUNT})),
            call(("run_query", {"sql": "SELECT 'never asked'"})),
        ],
        [AIMessage(f"```sql\n{COUNT}\n```")],
    )
    run = Agent(shop, model).run(case)
    assert run.status == "ok"
    assert run.sql == COUNT
    assert run.outcome is not None
    assert run.outcome.rows == ((3,),)
    assert [(step.kind, step.name, step.turn) for step in run.steps if step.kind == "tool"] == [
        ("tool", "list_tables", 0),
        ("tool", "get_schema", 1),
        ("tool", "check_query", 2),
        ("tool", "run_query", 3),
    ]


def test_ends_after_a_failing_run_query(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    model = telling([call(("run_query", {"sql": "SELECT id FROM nowhere"}))])
    run = Agent(shop, model).run(case)
    assert run.status == "failed"
    assert run.error is not None
    assert "nowhere" in run.error


def test_a_write_is_rejected_and_ends_the_run(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    run = Agent(shop, telling([call(("run_query", {"sql": "DELETE FROM item"}))])).run(case)
    assert run.status == "rejected"
    assert shop.execute(COUNT).rows == ((3,),)


def test_calls_after_run_query_in_its_turn_are_ignored(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    model = telling(
        [call(("list_tables", {}), ("run_query", {"sql": COUNT}), ("run_query", {"sql": COUNT}))]
    )
    run = Agent(shop, model).run(case)
    assert run.status == "ok"
    assert run.ignored_calls == 1
    assert [step.name for step in run.steps if step.kind == "tool"] == ["list_tables", "run_query"]


def test_a_tool_error_is_an_observation(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    model = telling(
        [
            call(("get_schema", {"tables": ["no_such_table"]})),
            call(("drop_tables", {})),
            call(("run_query", {})),
            call(("run_query", {"sql": COUNT})),
        ]
    )
    run = Agent(shop, model).run(case)
    assert run.status == "ok"
    tools = [step for step in run.steps if step.kind == "tool"]
    assert "no_such_table" in (tools[0].error or "")
    assert "there is no tool 'drop_tables'" in (tools[1].error or "")
    assert "sql" in (tools[2].error or "")
    seen = model.chat(case).seen[-1]
    observations = [message.text for message in seen if isinstance(message, ToolMessage)]
    assert [text.startswith("error") for text in observations] == [True, True, True]


def test_no_query_when_the_model_only_talks(shop: Engine, telling: Telling, case: Case) -> None:
    run = Agent(shop, telling([AIMessage("There are three items.")])).run(case)
    assert run.status == "no_query"
    assert run.error == "the model answered without running a query: There are three items."
    assert run.outcome is None


def test_no_query_when_the_reply_is_empty(shop: Engine, telling: Telling, case: Case) -> None:
    run = Agent(shop, telling([AIMessage("")])).run(case)
    assert (run.status, run.error) == (
        "no_query",
        "the model answered without running a query; the answer is empty",
    )


def test_gives_up_at_the_turn_limit(shop: Engine, telling: Telling, call: Call, case: Case) -> None:
    model = telling([call(("list_tables", {})) for _ in range(9)])
    run = Agent(shop, model, recipe=Recipe(max_turns=3)).run(case)
    assert run.status == "gave_up"
    assert sum(step.role == "controller" for step in run.steps) == 3


def test_the_recipe_bounds_what_a_call_shows(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    schema = ("get_schema", {"tables": ["item", "sale"] * 5, "sample_rows": 0})
    model = telling([call(schema), call(("run_query", {"sql": COUNT}))])
    Agent(shop, model, recipe=Recipe(observation_chars=2_000)).run(case)
    (shown,) = [message for message in model.chat(case).seen[-1] if message.type == "tool"]
    assert shown.text.count("CREATE TABLE") == 2
    assert shown.text.endswith("... and 8 more tables: ask for fewer at a time")


def test_sql_in_the_answer_is_run_only_when_the_recipe_says_so(
    shop: Engine, telling: Telling, case: Case
) -> None:
    answer = f"Here it is:\n```sql\n{COUNT};\n```"
    assert Agent(shop, telling([AIMessage(answer)])).run(case).status == "no_query"
    recipe = Recipe(run_answer_sql=True)
    run = Agent(shop, telling([AIMessage(answer)]), recipe=recipe).run(case)
    assert (run.status, run.sql) == ("ok", COUNT)


def test_calls_written_as_text_are_recognised_by_a_switch(
    shop: Engine, telling: Telling, case: Case
) -> None:
    text = f'```json\n{{"name": "run_query", "arguments": {{"sql": "{COUNT}"}}}}\n```'
    assert Agent(shop, telling([AIMessage(text)])).run(case).status == "no_query"
    run = Agent(shop, telling([AIMessage(text)], text_calls=True)).run(case)
    assert run.status == "ok"
    assert run.steps[0].calls_from_text == 1
    assert run.steps[0].text == text


def test_a_call_written_as_text_is_sent_back_as_a_call_alone(
    shop: Engine, telling: Telling, case: Case
) -> None:
    first = AIMessage('{"name": "list_tables", "arguments": {}}')
    model = telling([first, AIMessage("done")], text_calls=True)
    Agent(shop, model).run(case)
    sent = model.chat(case).seen[-1][-2]
    assert sent.text == ""
    assert [call["name"] for call in sent.tool_calls] == ["list_tables"]


@pytest.mark.parametrize(
    ("check", "offered", "llm_calls", "observation"),
    [
        ("llm", True, 1, CHECKED),
        ("explain", True, 0, CHECKED),
        ("both", True, 1, CHECKED),
        ("off", False, 0, "error: there is no tool 'check_query'; the tools are: "),
    ],
)
def test_check_modes(
    shop: Engine,
    telling: Telling,
    call: Call,
    case: Case,
    check: str,
    offered: bool,
    llm_calls: int,
    observation: str,
) -> None:
    model = telling(
        [call(("check_query", {"sql": COUNT})), call(("run_query", {"sql": COUNT}))],
        [AIMessage(COUNT)],
    )
    recipe = Recipe.model_validate({"check": check})
    run = Agent(shop, model, recipe=recipe).run(case)
    assert sum(step.role == "checker" for step in run.steps) == llm_calls
    seen = model.chat(case).seen[-1]
    assert ("check_query" in seen[0].text) is offered
    observed = next(message.text for message in seen if isinstance(message, ToolMessage))
    assert observed.startswith(observation)


def test_an_explained_mistake_is_told_to_the_model(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    wrong = "SELECT no_such_column FROM item"
    model = telling([call(("check_query", {"sql": wrong})), call(("run_query", {"sql": COUNT}))])
    Agent(shop, model, recipe=Recipe(check="explain")).run(case)
    observed = model.chat(case).seen[-1][-1].text
    assert observed.startswith("The engine refuses the query: ")
    assert "no_such_column" in observed


def test_the_checker_can_be_another_model(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    better = "SELECT COUNT(*) AS items FROM item"
    controller = telling(
        [call(("check_query", {"sql": COUNT})), call(("run_query", {"sql": better}))]
    )
    checker = telling([], [AIMessage(f"Fixed:\n```sql\n{better}\n```")])
    run = Agent(shop, controller, checker=checker).run(case)
    assert run.sql == better
    assert controller.chat(case).seen[-1][-1].text.endswith(better)


def test_provider_fault_is_a_status(shop: Engine, telling: Telling, case: Case) -> None:
    policy = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)
    model = telling([ConnectionError("the line is down")] * 3)
    run = Agent(shop, model, retry=policy).run(case)
    assert run.status == "provider_error"
    assert [step.error for step in run.steps] == ["ConnectionError: the line is down"] * 3
    assert all(step.wait_s > 0 for step in run.steps[:2])
    assert run.steps[2].wait_s == 0


def test_a_fault_in_the_checker_is_a_provider_error_too(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    policy = RetryPolicy(attempts=1, first_wait_s=0.001, max_wait_s=0.002)
    model = telling([call(("check_query", {"sql": COUNT}))], [TimeoutError("too slow")])
    run = Agent(shop, model, retry=policy).run(case)
    assert run.status == "provider_error"


def test_a_retried_call_keeps_the_failed_attempt(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    policy = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)
    model = telling(
        [ConnectionError("reset"), call(("run_query", {"sql": COUNT}), usage=(100, 20))]
    )
    run = Agent(shop, model, retry=policy).run(case)
    assert run.status == "ok"
    failed, answered = run.steps[0], run.steps[1]
    assert failed.error == "ConnectionError: reset"
    assert failed.wait_s > 0
    assert failed.usage is None
    assert answered.usage is not None
    assert (answered.usage.input_tokens, answered.usage.output_tokens) == (100, 20)


def test_secrets_in_a_provider_message_are_not_kept(
    shop: Engine, telling: Telling, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-of-no-usual-shape")
    policy = RetryPolicy(attempts=1, first_wait_s=0.001, max_wait_s=0.002)
    fault = ConnectionError("refused sk-proj-abcdefghijkl and a-secret-of-no-usual-shape")
    run = Agent(shop, telling([fault]), retry=policy).run(case)
    assert run.steps[0].error == "ConnectionError: refused [redacted] and [redacted]"
    assert "secret" not in (run.error or "")


def test_a_conversation_too_long_for_the_model_is_its_own_failure(
    shop: Engine, telling: Telling, call: Call, case: Case
) -> None:
    overflow = RuntimeError("400: this request exceeds the available context size (8192 tokens)")
    run = Agent(shop, telling([call(("list_tables", {})), overflow])).run(case)
    assert run.status == "gave_up"
    assert "context window" in (run.error or "")


def test_a_refused_key_is_no_status_but_ends_the_run(
    shop: Engine, telling: Telling, case: Case
) -> None:
    class AuthenticationError(Exception):
        status_code = 401

    with pytest.raises(RefusedError, match="refused the key"):
        Agent(shop, telling([AuthenticationError("wrong key")])).run(case)


@dataclass(frozen=True)
class _Told:
    log: list[str]
    read_bytes: int

    def facts(self) -> EngineFacts:
        self.log.append("asked")
        return EngineFacts(read_bytes=self.read_bytes)


@pytest.mark.parametrize("recipe", ["react", "self-consistency"])
def test_what_queries_took_is_asked_for_when_the_clock_has_stopped(
    shop: Engine, telling: Telling, call: Call, case: Case, recipe: RecipeName
) -> None:
    log: list[str] = []

    class TellingEngine(SqliteEngine):
        def _execute(self, sql: str, limits: Limits) -> Outcome:
            return replace(super()._execute(sql, limits), execution=_Told(log, 1000 + len(sql)))

        def clock_s(self) -> float:
            log.append("clock")
            return super().clock_s()

    refused = "SELECT load_extension('x')"
    assert isinstance(shop, SqliteEngine)
    shop.__class__ = TellingEngine
    if recipe == "react":
        replies = [
            call(("list_tables", {})),
            call(("get_schema", {"tables": ["item", "sale", "none"], "sample_rows": 1})),
            call(("run_query", {"sql": COUNT})),
        ]
        settings = Recipe(check="off")
    else:
        replies = [AIMessage("SELECT 1"), AIMessage(refused), AIMessage(COUNT)]
        settings = Recipe(name=recipe, samples=3, sample_rows=0)
    model = telling(replies) if recipe == "react" else telling([], replies)
    steps = Agent(shop, model, recipe=settings).run(case).steps
    assert log.count("asked") == (3 if recipe == "react" else 2)
    assert log.index("asked") > max(place for place, what in enumerate(log) if what == "clock")
    tools = [step for step in steps if step.kind == "tool"]
    ran = {step.arguments["sql"]: step for step in tools if step.name == "run_query"}
    assert ran[COUNT].facts == EngineFacts(read_bytes=1000 + len(COUNT))
    assert ran[COUNT].scans_bytes == (1000 + len(COUNT),)
    if recipe == "react":
        assert tools[0].scans_bytes == ()
        samples = tools[1].scans_bytes
        assert samples is not None
        assert len(samples) == 2
        assert (tools[1].facts, tools[1].scanned_bytes) == (None, sum(filter(None, samples)))
    else:
        assert ran["SELECT 1"].scanned_bytes == 1008
        assert (ran[refused].facts, ran[refused].scans_bytes) == (
            None,
            (),
        )
    assert {step.scans_bytes for step in steps if step.kind == "llm"} == {None}
