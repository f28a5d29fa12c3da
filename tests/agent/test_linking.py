"""Which tables a prompt shows: words of identifiers, BM25 by hand, embeddings, and the record."""

from __future__ import annotations

import json
import math
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage

from bothends.agent.agent import Agent
from bothends.agent.embeddings import EmbeddingModel
from bothends.agent.lexical import bm25, question_words, words
from bothends.agent.models.base import Case, Model
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun
from bothends.agent.retry import RetryPolicy
from bothends.agent.stages import stage_shares
from bothends.agent.tokens import count_tokens
from bothends.engines import Engine, open_engine
from bothends.infra.errors import MissingExtraError, ProviderError, UsageError

Telling = Callable[..., Model]

QUICK = RetryPolicy(attempts=2, first_wait_s=0.001, max_wait_s=0.01, total_wait_s=5)


@pytest.fixture
def school(tmp_path: Path) -> Iterator[Engine]:
    """Tables whose names, columns and comments are what a question is linked by."""
    file = tmp_path / "school.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE bus (busId INTEGER, seats INTEGER);
            CREATE TABLE enrolments (pupil_id INTEGER, courseCode TEXT);
            CREATE TABLE lineItems (orderKey INTEGER, price REAL);
            CREATE TABLE pupils (
                pupil_id INTEGER,
                surname TEXT, -- the family's name
                home_town TEXT
            );
            CREATE TABLE teachers (teacher_id INTEGER, salary REAL);
            """
        )
    connection.close()
    with open_engine(f"sqlite:///{file}") as engine:
        yield engine


def asked(
    question: str, engine: Engine, telling: Telling, **settings: Any
) -> tuple[AgentRun, list[str]]:
    """Return the run and the tables in its prompt."""
    model = telling([], [AIMessage("```sql\nSELECT 1\n```")])
    case = Case("q", question, 0, None, "sqlite")
    agent = Agent(engine, model, recipe=Recipe(name="single", **settings), retry=QUICK)
    run = agent.run(case)
    schema = next((step for step in run.steps if step.name == "get_schema"), None)
    return run, schema.arguments["tables"] if schema else []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("order_lines", ["order", "line"]),
        ("orderLines", ["order", "line"]),
        ("ORDER_LINES", ["order", "line"]),
        ("HTTPServer2", ["http", "server", "2"]),
        ("l_shipdate", ["l", "shipdate"]),
        ("Which countries' addresses, boxes and buses?", ["country", "address", "box", "buse"]),
        ("status of a bus, his class", ["status", "bus", "his", "class"]),
        ("Straßenläufe Größe", ["straßenläufe", "größe"]),
        ("INTEGER NOT NULL PRIMARY KEY", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_two_words_may_be_written_as_one() -> None:
    assert question_words("How many line items?") == {"line", "item", "lineitem"}


def test_bm25_by_hand() -> None:
    texts = [["order", "order", "date"], ["order"], ["price", "date"], ["town"]]
    # Lengths 3, 1, 2 and 1: the mean is 1.75. `order` stands in two of four texts, so that its idf
    # is ln(1 + 2.5 / 2.5); `town` in one, ln(1 + 3.5 / 1.5).
    first = math.log(2) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 1.75))
    second = math.log(2) * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 1.75))
    fourth = math.log(10 / 3) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 1.75))
    assert bm25({"order", "town", "unknown"}, texts) == pytest.approx([first, second, 0, fourth])
    assert bm25({"order"}, []) == []
    assert bm25({"order"}, [[], []]) == [0, 0]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("List each pupil.", "pupils"),
        ("What is the highest salary?", "teachers"),
        ("How many families are there?", "pupils"),  # a comment says it
        ("Which course codes are taken?", "enrolments"),
        ("What do the line items cost?", "lineItems"),
        ("How many buses have 40 seats?", "bus"),
    ],
)
def test_lexical_linking(question: str, first: str, school: Engine, telling: Telling) -> None:
    run, tables = asked(question, school, telling, linking="lexical", linking_tables=2)
    assert len(tables) == 2
    assert tables[0] == first
    linked = run.steps[0]
    assert linked.name == "link_tables"
    assert linked.arguments == {"question": question, "linking": "lexical", "most": 2}
    assert linked.text.splitlines()[0].startswith(f"{first}\t")
    assert [line.split("\t")[0] for line in linked.text.splitlines()[:2]] == tables
    left_out = linked.text.splitlines()[2].removeprefix("left out: ").split(", ")
    everything = {"bus", "enrolments", "lineItems", "pupils", "teachers"}
    assert {*tables, *left_out} == everything
    assert 0 < linked.engine_s <= linked.seconds
    assert [s.step.name for s in stage_shares(run.steps)["schema"]] == ["link_tables", "get_schema"]


def test_no_linking_shows_all(school: Engine, telling: Telling) -> None:
    run, tables = asked("List each pupil.", school, telling)
    assert tables == ["bus", "enrolments", "lineItems", "pupils", "teachers"]
    assert run.steps[0].text.splitlines() == tables


def test_an_empty_catalog(tmp_path: Path, telling: Telling) -> None:
    sqlite3.connect(tmp_path / "empty.db").close()
    with open_engine(f"sqlite:///{tmp_path / 'empty.db'}") as engine:
        for settings in ({}, {"linking": "lexical"}, {"linking": "embedding", "embeddings": Bag()}):
            run, tables = asked("Anything?", engine, telling, **settings)
            assert (run.status, tables) == ("ok", [])
            assert run.steps[0].text.startswith("(the catalog is empty)")


class Bag(Embeddings):
    """Embeds a text as how often it has each of a few words. Takes its time, and may fail first."""

    model = "bag-of-words"
    vocabulary = ("pupil", "salary", "seat", "price")

    def __init__(self, *faults: BaseException) -> None:
        self.faults = list(faults)
        self.seen: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        return [float(text.lower().count(word)) for word in self.vocabulary]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.faults:
            raise self.faults.pop(0)
        self.seen += texts
        time.sleep(0.05)
        return [self.embed_query(text) for text in texts]


def test_embedding_linking(school: Engine, telling: Telling) -> None:
    settings = {"linking": "embedding", "linking_tables": 2, "embeddings": Bag()}
    run, tables = asked("Who has the top salary of each pupil?", school, telling, **settings)
    # Counted by hand: the question is (1, 1, 0, 0), pupils (2, 0, 0, 0), enrolments (1, 0, 0, 0)
    # and teachers (0, 1, 0, 0): three cosines of 1/sqrt(2), of which the first two by name count.
    assert tables == ["enrolments", "pupils"]
    lines = run.steps[0].text.splitlines()
    assert lines[:2] == ["enrolments\t0.7071", "pupils\t0.7071"]
    assert lines[-1].startswith("(6 texts embedded by Bag(bag-of-words) in 0.")
    # Its tokens were counted here; an object of one's own is charged nothing for them.
    (linking, *_), usage = run.steps, run.steps[0].usage
    assert usage is not None
    assert usage.estimated
    sent = [*settings["embeddings"].seen, "Who has the top salary of each pupil?"]
    assert usage.input_tokens == sum(map(count_tokens, sent))
    assert linking.priced_as is None
    assert EmbeddingModel("openai:text-embedding-3-small").priced_as == (
        "openai:text-embedding-3-small"
    )
    # Its seconds are the trial's, and of no engine.
    linked = run.steps[0]
    assert run.seconds >= linked.seconds >= linked.engine_s + 0.05


def test_what_is_embedded_is_the_ddl(school: Engine, telling: Telling) -> None:
    bag = Bag()
    asked("Any pupil?", school, telling, linking="embedding", embeddings=bag)
    assert bag.seen[3].startswith("pupils\nCREATE TABLE pupils")
    assert "the family's name" in bag.seen[3]


def test_a_passing_fault_of_the_embeddings_is_retried(school: Engine, telling: Telling) -> None:
    bag = Bag(ConnectionError("reset"))
    run, tables = asked("Any pupil?", school, telling, linking="embedding", embeddings=bag)
    assert (run.status, len(tables)) == ("ok", 5)


def test_a_lasting_fault_of_the_embeddings_is_a_status(school: Engine, telling: Telling) -> None:
    bag = Bag(*[ConnectionError("reset")] * 2)
    run, tables = asked("Any pupil?", school, telling, linking="embedding", embeddings=bag)
    assert (run.status, tables) == ("provider_error", [])
    assert run.error == "the provider cannot be reached; gave up after 2 attempts: reset"
    assert run.steps[0].error is not None


def test_vectors_that_do_not_fit_are_a_provider_error(school: Engine, telling: Telling) -> None:
    class Odd(Bag):
        def embed_query(self, text: str) -> list[float]:
            return [1.0] * (2 if text.startswith("pupils") else 3)

    run, _ = asked("Any pupil?", school, telling, linking="embedding", embeddings=Odd())
    assert run.status == "provider_error"
    assert "vectors of different lengths" in (run.error or "")


@pytest.fixture
def embedding_server(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of the OpenAI embeddings API, and what it was asked."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append({"path": self.path, **body})
            data = [
                {"object": "embedding", "index": i, "embedding": Bag().embed_query(text)}
                for i, text in enumerate(body["input"])
            ]
            usage = {"prompt_tokens": 7, "total_tokens": 7}
            said = {"object": "list", "data": data, "model": body["model"], "usage": usage}
            payload = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", requests
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_openai_client_over_http(
    embedding_server: tuple[str, list[dict[str, Any]]], school: Engine, telling: Telling
) -> None:
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    url, requests = embedding_server
    embeddings = OpenAIEmbeddings(
        model="tiny",
        base_url=url,
        api_key=SecretStr("none"),
        check_embedding_ctx_length=False,  # which would fetch a vocabulary
    )
    settings = {"linking": "embedding", "linking_tables": 1, "embeddings": embeddings}
    run, tables = asked("What is the highest salary?", school, telling, **settings)
    assert (run.status, tables) == ("ok", ["teachers"])
    assert [request["path"] for request in requests] == ["/v1/embeddings"] * 2
    assert requests[1]["input"] == ["What is the highest salary?"]
    assert "by OpenAIEmbeddings(tiny)" in run.steps[0].text


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("tiny", UsageError, "write provider:model, such as openai:text-embedding-3-small"),
        ("nowhere:tiny", UsageError, "Provider 'nowhere' is not supported"),
        ("ollama:tiny", MissingExtraError, r"pip install 'bothends\[ollama\]'"),
        ("cohere:tiny", UsageError, "pip install langchain-cohere"),
        ("openai:tiny", ProviderError, "OPENAI_API_KEY"),
    ],
)
def test_embeddings_that_cannot_be_set_up(
    name: str,
    error: type[Exception],
    said: str,
    school: Engine,
    telling: Telling,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for package in ("langchain_ollama", "langchain_cohere"):
        monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    recipe = Recipe(name="single", linking="embedding", embeddings=name)
    with pytest.raises(error, match=said):
        Agent(school, telling([]), recipe=recipe)


def test_embeddings_by_name_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    model = EmbeddingModel("openai:text-embedding-3-small")
    loaded = model.load()
    assert type(loaded).__name__ == "OpenAIEmbeddings"
    assert model.load() is loaded
    assert Recipe(name="single", linking="embedding", embeddings=model).embeddings is model


def test_what_is_no_embedding_model_is_refused() -> None:
    with pytest.raises(ValueError, match="EmbeddingModel"):
        Recipe.model_validate({"name": "single", "linking": "embedding", "embeddings": 3})
