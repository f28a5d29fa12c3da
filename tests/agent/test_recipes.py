"""The recipes without tools, over a real engine; scripts and chosen replies say what must be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.models.recording_writer import RecordingWriter, make_header
from bothends.agent.models.registry import load_model
from bothends.agent.recipe import Recipe, RecipeName
from bothends.agent.recipes.consistency import elected
from bothends.agent.recipes.drafts import Draft
from bothends.agent.recipes.registry import load_recipe
from bothends.agent.record import AgentRun
from bothends.agent.retry import RetryPolicy
from bothends.agent.stages import stage_shares, top_level_seconds, total_usage
from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.eval.experiment import Experiment
from bothends.infra.errors import ReplayError, UsageError
from bothends.infra.prices import PriceBook

Telling = Callable[..., Model]

COUNT = "SELECT COUNT(*) AS n FROM item"
GOLD = COUNT
SINGLES: tuple[RecipeName, ...] = ("single", "single+correct", "self-consistency")
SLOW = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) "
    "SELECT MAX(i) FROM n"
)


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return PriceBook.load()


def fenced(*queries: str, usage: tuple[int, int] | None = None) -> list[AIMessage]:
    replies = [AIMessage(f"Here it is:\n```sql\n{sql}\n```\nIt counts.") for sql in queries]
    for reply in replies if usage else ():
        reply.usage_metadata = {
            "input_tokens": usage[0],
            "output_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return replies


def drafting(telling: Telling, *replies: Any) -> Model:
    """A model that answers without tools, as the fixture's does when it is the checker."""
    return telling([], replies)


def course(run: AgentRun) -> list[tuple[str, int]]:
    return [(step.role or step.name, step.turn) for step in run.steps]


def stages_of(run: AgentRun) -> dict[str, list[int]]:
    return {
        stage: [share.step.index for share in shares]
        for stage, shares in stage_shares(run.steps).items()
        if shares
    }


@pytest.mark.parametrize("name", get_args(RecipeName))
def test_every_name_is_a_recipe(name: RecipeName) -> None:
    assert callable(load_recipe(name))


def test_single_is_one_call_with_the_schema_in_the_prompt(
    shop: Engine, telling: Telling, case: Case
) -> None:
    model = drafting(telling, *fenced(COUNT, usage=(100, 10)))
    run = Agent(shop, model, recipe=Recipe(name="single", sample_rows=2)).run(case)
    assert (run.status, run.sql) == ("ok", COUNT)
    assert run.outcome is not None
    assert run.outcome.rows == ((3,),)
    assert course(run) == [
        ("link_tables", 0),
        ("get_schema", 0),
        ("controller", 0),
        ("run_query", 0),
    ]
    assert stages_of(run) == {"schema": [0, 1], "run": [2, 3]}
    usage = total_usage(run.steps)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (100, 10)
    system, question = model.chat(case).seen[0]
    assert question.text == "How many items are there?"
    for shown in ("SQLite", "CREATE TABLE item", "CREATE TABLE sale", "1\tnut\t0.5", "2 sample"):
        assert shown in system.text
    assert "3\tsaw" not in system.text
    assert run.steps[3].engine_s == run.outcome.seconds
    assert 0 < top_level_seconds(run.steps) <= run.seconds


@pytest.mark.parametrize("name", SINGLES)
def test_a_reply_without_sql_is_no_query(
    name: RecipeName, shop: Engine, telling: Telling, case: Case
) -> None:
    model = drafting(telling, *[AIMessage("There are three items.")] * 2)
    run = Agent(shop, model, recipe=Recipe(name=name, **samples(name, 2))).run(case)
    assert run.status == "no_query"
    assert run.error == "the model answered without running a query: There are three items."
    assert stages_of(run)["answer"] == [2, 3][: 2 if name == "self-consistency" else 1]
    assert "run" not in stages_of(run)


def test_all_calls_of_an_attempt_are_one_run(shop: Engine, telling: Telling, case: Case) -> None:
    class Tree(BaseCallbackHandler):
        def __init__(self) -> None:
            self.roots: list[Any] = []
            self.parents: dict[str, set[Any]] = {"llm": set(), "tool": set()}

        def on_chain_start(self, serialized: Any, inputs: Any, **seen: Any) -> None:
            if seen["parent_run_id"] is None:
                self.roots.append((seen["run_id"], seen["name"], inputs))

        def on_chat_model_start(self, serialized: Any, messages: Any, **seen: Any) -> None:
            self.parents["llm"].add(seen["parent_run_id"])

        def on_tool_start(self, serialized: Any, input_str: str, **seen: Any) -> None:
            self.parents["tool"].add(seen["parent_run_id"])

    tree = Tree()
    model = drafting(telling, *fenced(COUNT, COUNT))
    recipe = Recipe(name="self-consistency", samples=2)
    Agent(shop, model, recipe=recipe).run(case, callbacks=[tree])
    ((root, name, inputs),) = tree.roots
    assert (name, inputs) == ("bothends", case.question)
    assert tree.parents == {"llm": {root}, "tool": {root}}


def samples(name: RecipeName, number: int) -> dict[str, Any]:
    return {"samples": number} if name == "self-consistency" else {}


def test_single_does_not_correct(shop: Engine, telling: Telling, case: Case) -> None:
    model = drafting(telling, *fenced("SELECT no_such FROM item", COUNT))
    run = Agent(shop, model, recipe=Recipe(name="single")).run(case)
    assert run.status == "failed"
    assert "no_such" in (run.error or "")
    assert len(model.chat(case).seen) == 1


def test_a_write_is_rejected(shop: Engine, telling: Telling, case: Case) -> None:
    model = drafting(telling, *fenced("DELETE FROM item"))
    run = Agent(shop, model, recipe=Recipe(name="single")).run(case)
    assert run.status == "rejected"
    assert shop.execute(COUNT).rows == ((3,),)


def test_the_schema_keeps_to_its_characters(tmp_path: Path, telling: Telling, case: Case) -> None:
    import sqlite3

    file = tmp_path / "wide.db"
    with sqlite3.connect(file) as connection:
        for number in range(40):
            columns = ", ".join(f"column_{i} INTEGER" for i in range(20))
            connection.execute(f"CREATE TABLE t{number:02} ({columns})")
    connection.close()
    model = drafting(telling, *fenced("SELECT 1"))
    with open_engine(f"sqlite:///{file}") as engine:
        recipe = Recipe(name="single", observation_chars=3_000, sample_rows=0)
        run = Agent(engine, model, recipe=recipe).run(case)
    linked, schema = run.steps[0], run.steps[1]
    assert linked.text.splitlines()[:3] == ["t00", "t01", "t02"]
    assert "left out: t03, t04" in linked.text
    assert linked.text.endswith(", and 17 more")
    assert schema.arguments["tables"] == ["t00", "t01", "t02"]
    assert len(schema.text) <= 3_000
    system = model.chat(case).seen[0][0].text
    assert "It has 40 tables. These are the 3 that the question may be about:" in system
    assert schema.text in system


def test_a_failing_draft_is_corrected_by_what_the_engine_said(
    shop: Engine, telling: Telling, case: Case
) -> None:
    bad = "SELECT no_such FROM item"
    model = drafting(telling, *fenced(bad, COUNT, usage=(50, 5)))
    run = Agent(shop, model, recipe=Recipe(name="single+correct")).run(case)
    assert (run.status, run.sql) == ("ok", COUNT)
    assert course(run)[2:] == [
        ("controller", 0),
        ("run_query", 0),
        ("controller", 1),
        ("run_query", 1),
    ]
    executions = [step for step in run.steps if step.name == "run_query"]
    assert [step.arguments["sql"] for step in executions] == [bad, COUNT]
    assert "no_such" in (executions[0].error or "")
    assert executions[1].error is None
    assert stages_of(run)["run"] == [2, 3, 4, 5]
    usage = total_usage(run.steps)
    assert usage is not None
    assert usage.input_tokens == 100
    *_, draft, feedback = model.chat(case).seen[1]
    assert draft.text == f"```sql\n{bad}\n```"
    assert executions[0].text in feedback.text
    assert "no such column: no_such" in feedback.text


def test_a_rejection_is_corrected_too(shop: Engine, telling: Telling, case: Case) -> None:
    model = drafting(telling, *fenced("DROP TABLE item", COUNT))
    run = Agent(shop, model, recipe=Recipe(name="single+correct")).run(case)
    assert (run.status, run.sql) == ("ok", COUNT)


@pytest.mark.parametrize(("corrections", "calls"), [(0, 1), (1, 2), (2, 3)])
def test_corrections_are_bounded(
    corrections: int, calls: int, shop: Engine, telling: Telling, case: Case
) -> None:
    queries = [f"SELECT no_such_{i} FROM item" for i in range(9)]
    model = drafting(telling, *fenced(*queries))
    recipe = Recipe(name="single+correct", corrections=corrections)
    run = Agent(shop, model, recipe=recipe).run(case)
    assert run.status == "failed"
    assert run.sql == queries[calls - 1]
    assert f"no_such_{calls - 1}" in (run.error or "")
    assert len(model.chat(case).seen) == calls


def test_a_correction_without_sql_leaves_the_draft_before(
    shop: Engine, telling: Telling, case: Case
) -> None:
    replies = [*fenced("SELECT no_such FROM item"), AIMessage("I cannot."), *fenced(COUNT)]
    model = drafting(telling, *replies)
    run = Agent(shop, model, recipe=Recipe(name="single+correct")).run(case)
    assert (run.status, run.sql) == ("failed", "SELECT no_such FROM item")
    assert len(model.chat(case).seen) == 2


def test_a_time_out_is_not_corrected(shop: Engine, telling: Telling, case: Case) -> None:
    model = drafting(telling, *fenced(SLOW, COUNT))
    limits = Limits(timeout_s=0.2)
    run = Agent(shop, model, recipe=Recipe(name="single+correct"), limits=limits).run(case)
    assert (run.status, run.sql) == ("timeout", SLOW)
    assert len(model.chat(case).seen) == 1


def test_the_result_that_most_drafts_agree_on_counts(
    shop: Engine, telling: Telling, case: Case
) -> None:
    drafts = [
        "SELECT 7 AS n",
        "SELECT no_such FROM item",
        "SELECT COUNT(id) FROM item",
        "SELECT 7.5",
        "SELECT 3.0 AS three",
    ]
    model = drafting(telling, *fenced(*drafts, usage=(10, 1)))
    run = Agent(shop, model, recipe=Recipe(name="self-consistency")).run(case)
    assert (run.status, run.sql) == ("ok", drafts[2])
    assert run.outcome is not None
    assert run.outcome.rows == ((3,),)
    executions = [step for step in run.steps if step.name == "run_query"]
    assert [step.arguments["sql"] for step in executions] == drafts
    assert [step.turn for step in executions] == [0, 1, 2, 3, 4]
    assert stages_of(run)["run"] == list(range(2, 12))
    usage = total_usage(run.steps)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (50, 5)
    assert len({tuple(m.text for m in seen) for seen in model.chat(case).seen}) == 1


def made(sql: str, *rows: Any, status: Any = "ok", **more: Any) -> Draft:
    outcome = Outcome(status, ("n",), ("any",), tuple((row,) for row in rows), len(rows), **more)
    return Draft("", sql, outcome)


@pytest.mark.parametrize(
    ("drafts", "winner"),
    [
        ([made("a", 1), made("b", 2)], 0),  # a tie: the first
        ([made("a", 1), made("b", 2), made("c", 3), made("d", 3), made("e", 2)], 1),
        ([made("a", 1, 2), made("b", 5), made("c", 2, 1)], 0),  # rows in any order
        ([made("a", status="failed"), made("b", status="failed"), made("c", 1)], 2),
        ([Draft("no SQL"), made("b", 1)], 1),
        ([Draft("no SQL"), Draft("none either"), made("c", status="failed")], 2),
        ([made("a", status="timeout"), made("b", status="failed"), made("c", status="failed")], 1),
        ([Draft("no SQL"), Draft("none either")], 0),
        # Of a result that was cut, nothing but the query tells that another is the same.
        ([made("a", 1, truncated=True), made("b", 1, truncated=True), made("c", 2)], 0),
        ([made("x", 1), made("a", 1, truncated=True), made("a", 1, truncated=True)], 1),
        (
            [
                made("x", 1),
                made("a", truncated=True, digest="d"),
                made("b", truncated=True, digest="d"),
            ],
            1,
        ),
    ],
)
def test_elected(drafts: list[Draft], winner: int) -> None:
    assert elected(drafts) is drafts[winner]


@pytest.mark.parametrize("name", SINGLES)
def test_a_fault_is_retried_and_metered(
    name: RecipeName, shop: Engine, telling: Telling, case: Case
) -> None:
    model = drafting(telling, ConnectionError("reset"), *fenced(COUNT))
    policy = RetryPolicy(attempts=2, first_wait_s=0.001, max_wait_s=0.002)
    agent = Agent(shop, model, recipe=Recipe(name=name, **samples(name, 1)), retry=policy)
    run = agent.run(case)
    assert run.status == "ok"
    assert [(step.error, step.wait_s > 0) for step in run.steps[2:4]] == [
        ("ConnectionError: reset", True),
        (None, False),
    ]
    assert stages_of(run)["run"] == [2, 3, 4]


def test_a_fault_that_stays_is_a_status(shop: Engine, telling: Telling, case: Case) -> None:
    model = drafting(telling, *fenced(COUNT), ConnectionError("reset"))
    policy = RetryPolicy(attempts=1, first_wait_s=0.001, max_wait_s=0.002)
    recipe = Recipe(name="self-consistency", samples=2)
    run = Agent(shop, model, recipe=recipe, retry=policy).run(case)
    assert (run.status, run.sql) == ("provider_error", None)


def test_a_checker_has_no_place_in_it(shop: Engine, telling: Telling) -> None:
    with pytest.raises(UsageError, match="leave --checker out"):
        Agent(shop, telling([]), checker=telling([]), recipe=Recipe(name="single"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"linking": "lexical"}, "recipe react has no use for --linking, which is of single"),
        ({"name": "single", "samples": 3}, "no use for --samples, which is of self-consistency"),
        ({"name": "single", "corrections": 1}, "--corrections, which is of single"),
        ({"name": "single", "linking_tables": 3}, "give --linking lexical or embedding"),
        ({"name": "single", "linking": "embedding"}, "need one another"),
        ({"name": "single", "embeddings": "openai:x"}, "need one another"),
    ],
)
def test_settings_without_effect_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Recipe(**settings).refuse_idle()
    with pytest.raises(UsageError, match=said):
        Experiment(suite="shop.yaml", engine="sqlite", models=("m:m",), recipe=Recipe(**settings))


def test_a_recipe_survives_the_manifest() -> None:
    recipe = Recipe(name="single", linking="embedding", embeddings="openai:small")
    assert recipe.model_dump(mode="json")["embeddings"] == "openai:small"
    assert Recipe.model_validate_json(recipe.model_dump_json()) == recipe
    # What was written before there were other recipes.
    assert Recipe.model_validate({"name": "react", "check": "off"}) == Recipe(check="off")


PLAYED = {
    # script: what single, single+correct and self-consistency (of five) must come to
    "perfect": ("ok", "ok", "ok"),
    "hesitating": ("ok", "ok", "ok"),
    "extra_column": ("ok", "ok", "ok"),
    "wrong_rows": ("ok", "ok", "ok"),
    "failing": ("failed", "failed", "failed"),
    "no_query": ("no_query", "no_query", "no_query"),
    "gives_up": ("no_query", "no_query", "no_query"),
    "corrected": ("failed", "ok", "ok"),
    "split": ("ok", "ok", "ok"),
}
CALLS = {"failing": (1, 3, 5), "corrected": (1, 2, 5)}


@pytest.mark.parametrize("script", PLAYED)
def test_scripts_play_in_every_recipe(
    script: str, shop: Engine, case: Case, prices: PriceBook
) -> None:
    model = load_model(f"scripted:{script}?price_as=openai:gpt-4o", prices=prices)
    for place, name in enumerate(SINGLES):
        run = Agent(shop, model, recipe=Recipe(name=name)).run(case)
        assert run.status == PLAYED[script][place], name
        llm = [step for step in run.steps if step.kind == "llm"]
        assert len(llm) == CALLS.get(script, (1, 1, 5))[place], name
        assert all(step.usage and step.usage.output_tokens for step in llm)


def test_the_scripts_of_the_recipes_come_to_what_they_say(
    shop: Engine, case: Case, prices: PriceBook
) -> None:
    def rows(script: str, name: RecipeName) -> Any:
        model = load_model(f"scripted:{script}", prices=prices)
        run = Agent(shop, model, recipe=Recipe(name=name)).run(case)
        return run.outcome and run.outcome.rows

    assert rows("corrected", "single+correct") == ((3,),)
    assert rows("split", "single") == ((3,), (None,))  # class A
    assert rows("split", "self-consistency") == ((3,),)  # two agree, though the first is wrong
    assert rows("split", "react") == ((3,), (None,))


@pytest.mark.parametrize("name", SINGLES)
def test_a_run_of_any_recipe_is_recorded_and_replayed(
    name: RecipeName, shop: Engine, telling: Telling, case: Case, prices: PriceBook, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    live = drafting(telling, *fenced("SELECT no_such FROM item", COUNT, COUNT, usage=(9, 3)))
    recipe = Recipe(name=name, **samples(name, 3))
    header = make_header(live, suite="shop", engine="sqlite", scale_factor=None, recipe=name)
    with RecordingWriter(path, header) as writer:
        first = Agent(shop, live, recipe=recipe).run(case, callbacks=[writer.handler(case)])
    replayed = load_model(f"replay:{path}", prices=prices)
    second = Agent(shop, replayed, recipe=recipe).run(case)

    def told(run: AgentRun) -> list[Any]:
        return [(s.name, s.text, s.tool_calls, s.usage) for s in run.steps if s.role]

    assert first.status == ("failed" if name == "single" else "ok")
    assert (second.status, second.sql) == (first.status, first.sql)
    assert [each[1:] for each in told(first)] == [each[1:] for each in told(second)]
    assert all(step.replayed for step in second.steps if step.kind == "llm")
    with pytest.raises(ReplayError, match=f"take --recipe {name}".replace("+", r"\+")):
        Agent(shop, replayed)


def test_agents_of_every_recipe_run_at_once(
    tmp_path: Path, shop: Engine, case: Case, prices: PriceBook
) -> None:
    model = load_model("scripted:split", prices=prices)
    together = threading.Barrier(8)

    def ask(number: int) -> tuple[str, Any]:
        name = get_args(RecipeName)[number % 4]
        with open_engine(f"sqlite:///{tmp_path / 'shop.db'}") as engine:
            agent = Agent(engine, model, recipe=Recipe(name=name))
            together.wait(timeout=30)
            runs = [agent.run(case) for _ in range(3)]
        assert len({run.sql for run in runs}) == 1
        assert runs[0].outcome is not None
        return name, len(runs[0].outcome.rows)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    assert found == {("react", 2), ("single", 2), ("single+correct", 2), ("self-consistency", 1)}
