from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.models.registry import load_model
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun
from bothends.agent.retry import RetryPolicy
from bothends.engines import open_engine
from bothends.infra.prices import PriceBook

from .server import FaultyServer, Reply, faulty_server

COUNT = "SELECT COUNT(*) AS n FROM item"
CASE = Case("q1", "How many items are there?", 0, COUNT, "sqlite")
QUICK = RetryPolicy(attempts=4, first_wait_s=0.001, max_wait_s=0.004, total_wait_s=5)
PRICES = PriceBook.load()

RunAgent = Callable[..., AgentRun]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with faulty_server() as state:
        yield state


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of one table with a hundred items."""
    file = tmp_path_factory.mktemp("shop") / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, price INTEGER)")
        connection.executemany("INSERT INTO item VALUES (?, ?)", [(i, i) for i in range(100)])
    connection.close()
    return file


def served(server: FaultyServer, options: str = "") -> Model:
    """The model that the server serves, called by OpenAI's own client."""
    return load_model(f"openai:small{options}", prices=PRICES, base_url=server.url)


@pytest.fixture
def run_agent(server: FaultyServer, shop: Path) -> Iterator[RunAgent]:
    """Ask the question of an agent whose model answers with these replies."""
    with open_engine(f"sqlite:///{shop}") as engine:

        def run(
            *replies: Reply, options: str = "", retry: RetryPolicy = QUICK, **recipe: object
        ) -> AgentRun:
            if replies:
                server.answers(*replies)
            check = {} if "name" in recipe else {"check": "off"}
            made = Recipe.model_validate(check | recipe)
            return Agent(engine, served(server, options), recipe=made, retry=retry).run(CASE)

        yield run
