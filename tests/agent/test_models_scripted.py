"""The scripts through the real agent on SQLite; what they must get is worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case
from bothends.agent.models.registry import load_model
from bothends.agent.models.scripts import SCRIPTS, draw_script, tables_of
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun
from bothends.agent.tokens import count_tokens, estimate_usage
from bothends.engines import Engine
from bothends.infra.errors import UsageError
from bothends.infra.prices import NoPricing, PriceBook, TokenPricing

GOLD = """\
WITH sold AS (SELECT item_id, SUM(amount) AS n FROM sale GROUP BY item_id)
SELECT name, price, n FROM item JOIN sold ON item_id = id ORDER BY name"""
ROWS = (("bolt", 0.75, 4), ("nut", 0.5, 15))


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return PriceBook.load()


@pytest.fixture
def case() -> Case:
    return Case("q1", "How much of each item was sold?", 0, GOLD, "sqlite")


def play(
    spec: str, case: Case, engine: Engine, prices: PriceBook, recipe: Recipe | None = None
) -> AgentRun:
    return Agent(engine, load_model(spec, prices=prices), recipe=recipe).run(case)


def rows(run: AgentRun) -> list[tuple[Any, ...]]:
    assert run.status == "ok", run.error
    assert run.outcome is not None
    return sorted(run.outcome.rows, key=str)


def tools_called(run: AgentRun) -> list[str]:
    return [step.name for step in run.steps if step.kind == "tool"]


PLAN = ["list_tables", "get_schema", "check_query", "run_query"]


def test_perfect(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:perfect", case, shop, prices)
    assert run.sql == GOLD
    assert tuple(rows(run)) == ROWS
    assert tools_called(run) == PLAN
    assert [step.role for step in run.steps if step.kind == "llm"] == [
        "controller",
        "controller",
        "controller",
        "checker",
        "controller",
    ]
    schema = next(step for step in run.steps if step.name == "get_schema")
    assert schema.arguments == {"tables": ["sale", "item"]}


def test_extra_column(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:extra_column", case, shop, prices)
    assert rows(run) == [(*row, "superfluous") for row in ROWS]


def test_missing_column(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:missing_column", case, shop, prices)
    assert rows(run) == [row[:2] for row in ROWS]


def test_missing_column_of_one(case: Case, shop: Engine, prices: PriceBook) -> None:
    case = replace(case, gold_sql="SELECT name AS n FROM item")
    assert rows(play("scripted:missing_column", case, shop, prices)) == [("wrong",)] * 3


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("SELECT COUNT(*), MAX(id) FROM item -- all", [(3,)]),
        ("SELECT id, name FROM item WHERE id = 1 UNION ALL SELECT 7, 'x'", [(1,), (7,)]),
        ('SELECT id AS "The Id", name AS b FROM item ORDER BY price LIMIT 1;', [(3,)]),
    ],
)
def test_missing_column_of_other_shapes(
    gold: str, expected: list[tuple[int]], case: Case, shop: Engine, prices: PriceBook
) -> None:
    case = replace(case, gold_sql=gold)
    assert rows(play("scripted:missing_column", case, shop, prices)) == expected


@pytest.mark.parametrize("gold", ["SELECT * FROM item", "SELECT id, id FROM item"])
def test_missing_column_needs_names(gold: str, case: Case, shop: Engine, prices: PriceBook) -> None:
    with pytest.raises(UsageError, match="missing_column needs"):
        play("scripted:missing_column", replace(case, gold_sql=gold), shop, prices)


def test_wrong_rows(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:wrong_rows", case, shop, prices)
    assert rows(run) == sorted([*ROWS, (None, None, None)], key=str)


def test_wrong_rows_of_an_empty_gold(case: Case, shop: Engine, prices: PriceBook) -> None:
    case = replace(case, gold_sql="SELECT id, name FROM item WHERE id > 99")
    assert rows(play("scripted:wrong_rows", case, shop, prices)) == [(None, None)]


def test_failing(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:failing", case, shop, prices)
    assert run.status == "failed"
    assert "no_such_column" in (run.error or "")


def test_no_query(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:no_query", case, shop, prices, Recipe(run_answer_sql=True))
    assert run.status == "no_query"
    assert tools_called(run) == ["list_tables", "get_schema"]


def test_gives_up(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:gives_up", case, shop, prices, Recipe(max_turns=5))
    assert run.status == "gave_up"
    assert tools_called(run) == ["list_tables"] * 5


def test_hesitating(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:hesitating", case, shop, prices)
    assert tuple(rows(run)) == ROWS
    assert tools_called(run) == [
        "list_tables",
        "get_schema",
        "get_schema",
        "check_query",
        "check_query",
        "run_query",
    ]


def test_leaves_out_a_tool_that_is_not_offered(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:perfect", case, shop, prices, Recipe(check="off"))
    assert tools_called(run) == ["list_tables", "get_schema", "run_query"]


def test_needs_gold(case: Case, shop: Engine, prices: PriceBook) -> None:
    with pytest.raises(UsageError, match="need a question of a suite"):
        play("scripted:perfect", replace(case, gold_sql=None), shop, prices)


def test_flaky_plays_what_was_drawn(case: Case, shop: Engine, prices: PriceBook) -> None:
    for replica in range(4):
        case = replace(case, replica=replica)
        drawn = draw_script(seed=1, question_id="q1", replica=replica, p=0.5)
        flaky = play("scripted:flaky?p=0.5&seed=1", case, shop, prices)
        assert flaky.sql == play(f"scripted:{drawn}", case, shop, prices).sql


def test_flaky_draws_alike_everywhere() -> None:
    # Frozen: these draws are part of what a run can be compared with.
    draws = [draw_script(seed=1, question_id=str(q), replica=0, p=0.6) for q in range(1, 6)]
    assert draws == ["wrong_rows", "perfect", "perfect", "perfect", "perfect"]


def test_flaky_draws_perfect_in_about_p_of_the_trials() -> None:
    trials = 2000
    hits = sum(
        draw_script(seed=3, question_id=str(q), replica=0, p=0.6) == "perfect"
        for q in range(trials)
    )
    # Four standard deviations of a binomial: 4 * sqrt(2000 * 0.6 * 0.4) = 87.6.
    assert abs(hits - 1200) < 88


def test_every_script_says_what_it_is(prices: PriceBook) -> None:
    for name in SCRIPTS:
        model = load_model(f"scripted:{name}", prices=prices)
        assert model.kind == "scripted"
        assert model.description.startswith("A script, not a model: ")
        assert isinstance(model.pricing, NoPricing)


def test_two_flaky_ones_have_two_labels(prices: PriceBook) -> None:
    specs = ("scripted:flaky", "scripted:flaky?seed=1", "scripted:flaky?p=0.9")
    assert len({load_model(spec, prices=prices).label for spec in specs}) == 3


def test_reports_no_tokens_unless_it_is_priced(case: Case, shop: Engine, prices: PriceBook) -> None:
    run = play("scripted:perfect", case, shop, prices)
    assert all(step.usage is None for step in run.steps)


def test_counts_tokens_where_it_is_priced(case: Case, shop: Engine, prices: PriceBook) -> None:
    model = load_model("scripted:perfect?price_as=openai:gpt-4o", prices=prices)
    assert model.pricing == TokenPricing("openai", "gpt-4o")
    assert model.description.endswith("tokens counted here and priced as openai:gpt-4o.")
    run = Agent(shop, model).run(case)
    usages = [step.usage for step in run.steps if step.role == "controller"]
    assert all(usage is not None and usage.estimated for usage in usages)
    inputs = [usage.input_tokens for usage in usages if usage and usage.input_tokens]
    assert inputs == sorted(inputs), "the conversation only grows"
    last = usages[-1]
    assert last is not None
    assert last.output_tokens is not None
    assert last.output_tokens >= count_tokens(GOLD), "the call holds the query"


def test_tokens_are_those_of_o200k_base() -> None:
    # OpenAI's cookbook gives 6 tokens for this text in o200k_base.
    assert count_tokens("tiktoken is great!") == 6
    assert count_tokens("") == 0


def test_usage_of_a_conversation() -> None:
    usage = estimate_usage(
        [SystemMessage("tiktoken is great!"), HumanMessage("tiktoken is great!")],
        AIMessage("tiktoken is great!"),
    )
    # Twice 3 framing tokens, 1 for the role and 6 of text; 3 that prime the reply.
    assert usage == {"input_tokens": 23, "output_tokens": 6, "total_tokens": 29}


def test_tools_and_calls_are_counted() -> None:
    call = {"name": "run_query", "args": {"sql": "SELECT 1"}, "id": "1", "type": "tool_call"}
    schema = {"type": "function", "function": {"name": "run_query"}}
    bare = estimate_usage([HumanMessage("x")], AIMessage(""))
    full = estimate_usage([HumanMessage("x")], AIMessage("", tool_calls=[call]), [schema])
    assert bare["output_tokens"] == 0
    assert full["output_tokens"] == count_tokens(
        '[{"name": "run_query", "arguments": {"sql": "SELECT 1"}}]'
    )
    assert full["input_tokens"] - bare["input_tokens"] == count_tokens(
        '{"type": "function", "function": {"name": "run_query"}}'
    )


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        (GOLD, ("sale", "item")),
        ("SELECT * FROM a, b AS c WHERE x IN (SELECT y FROM d)", ("d", "a", "b")),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a JOIN b USING (x)", ("a", "b")),
        ("SELECT x FROM a UNION SELECT x FROM s.b", ("a", "s.b")),
        ("SELECT 1", ()),
    ],
)
def test_tables_of(sql: str, tables: tuple[str, ...]) -> None:
    assert tables_of(sql, "spark") == tables


def test_the_checker_returns_the_query_unchanged(case: Case, prices: PriceBook) -> None:
    chat = load_model("scripted:perfect", prices=prices).chat(case)
    sql = "(SELECT 'a;b'\n\nFROM t)\nUNION SELECT 1"
    reply = chat.invoke(f"Example:\n```sql\nSELECT 0\n```\nLook at:\n```sql\n{sql}\n```\nThanks.")
    assert reply.text == f"```sql\n{sql}\n```"
