"""Transcripts hold the whole conversation of each trial; without them nothing of it is on disk."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.retry import RetryPolicy
from bothends.api import load_run
from bothends.engines import open_engine
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.fork import find_fork
from bothends.eval.record import TrialKey
from bothends.eval.runner import run_experiment
from bothends.eval.scoring.score import rescore
from bothends.eval.transcripts import Transcript
from bothends.eval.witness import Witness
from bothends.infra.prices import NoPricing

KEY = TrialKey(
    suite="s",
    question_id="a",
    engine="sqlite",
    scale_factor=None,
    model="test:m",
    checker=None,
    recipe="react",
    replica=0,
)
CELL = "unmistakable-cell"


class Telling(BaseChatModel):
    """Answers with what it was given; an exception is raised."""

    replies: list[Any]
    seen: list[Any]

    @property
    def _llm_type(self) -> str:
        return "telling"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.seen.append([(message.type, message.content) for message in messages])
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply)])


def calling(name: str, text: str = "", **arguments: Any) -> AIMessage:
    call = {"name": name, "args": arguments, "id": name, "type": "tool_call"}
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    return AIMessage(text, tool_calls=[call], usage_metadata=usage)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(
            f"CREATE TABLE item (n INTEGER, name TEXT); INSERT INTO item VALUES (1, '{CELL}');"
        )
    connection.close()
    (tmp_path / "q.yaml").write_text(
        "- {id: a, question: 'Which?', gold: SELECT name FROM item}\n"
        "- {id: b, question: 'How many?', gold: SELECT COUNT(*) AS c FROM item}\n"
    )
    return tmp_path


def make(shop: Path, **changes: object) -> Experiment:
    fields: dict[str, object] = {
        "suite": str(shop / "q.yaml"),
        "engine": f"sqlite:///{shop / 'shop.db'}",
        "models": ("scripted:perfect",),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)


def test_every_prompt_can_be_put_together_again(shop: Path) -> None:
    """Over a fault that was retried, the checker's own call, and a call that was refused."""
    replies = [
        calling("list_tables", "First the tables."),
        ConnectionError("gone: Bearer abcdef123456"),
        calling("nonsense"),
        calling("check_query", sql="SELECT name FROM item"),
        AIMessage("```sql\nSELECT name FROM item\n```"),
        calling("run_query", sql="SELECT name FROM item"),
    ]
    chat = Telling(replies=replies, seen=[])
    model = Model("test:m", "m", "scripted", "A model.", NoPricing("a test"), False, lambda _: chat)
    witness = Witness()
    retry = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.01)
    with open_engine(f"sqlite:///{shop / 'shop.db'}") as engine:
        agent = Agent(engine, model, retry=retry)
        run = agent.run(Case("a", "Which?", 0, None, "sqlite"), callbacks=[witness])
    transcript = witness.transcript(KEY)
    llm = [call for call in transcript.calls if call.kind == "llm"]
    kinds = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}
    told = [
        [
            (kinds[transcript.messages[place].role], transcript.messages[place].content)
            for place in call.prompt
        ]
        for call in llm
    ]
    assert told == chat.seen
    assert [call.name for call in llm] == ["controller"] * 4 + ["checker", "controller"]
    assert [call.error for call in llm] == [
        None, "ConnectionError: gone: Bearer [redacted]", None, None, None, None,
    ]  # fmt: skip
    assert llm[0].usage is not None
    assert (llm[0].usage.input_tokens, llm[0].usage.output_tokens) == (7, 3)
    first = transcript.messages[llm[0].reply or 0]
    assert (first.content, first.tool_calls[0].name) == ("First the tables.", "list_tables")
    last = transcript.calls[-1]
    assert (last.kind, last.name) == ("tool", "run_query")
    assert transcript.messages[last.reply or 0].content == f"name\n{CELL}"
    # The steps are in order of starting, the calls in that of ending, and a refused call is none.
    steps = [step.name for step in run.steps if step.kind == "tool" and step.name != "nonsense"]
    assert [call.name for call in transcript.calls if call.kind == "tool"] == steps


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_run_keeps_one_of_each_trial(shop: Path, concurrency: int) -> None:
    run = run_experiment(make(shop, replicas=4, concurrency=concurrency), shop / "run")
    kept = list(run.transcripts())
    assert {each.key for each in kept} == {trial.key for trial in run.trials()}
    assert len(kept) == 8
    for each in kept:
        text = " ".join(str(message.content) for message in each.messages)
        asked = {"a": "Which?", "b": "How many?"}
        assert [asked[name] in text for name in asked] == [
            name == each.key.question_id for name in asked
        ]
    lines = gzip.decompress((run.path / "transcripts.jsonl.gz").read_bytes()).splitlines()
    assert [Transcript.model_validate_json(line) for line in lines] == kept


def test_what_was_cut_off_is_dropped_and_written_again(shop: Path) -> None:
    experiment = make(shop)
    run = run_experiment(experiment, shop / "run")
    file = run.path / "transcripts.jsonl.gz"
    # Killed after the second transcript was begun: its trial was not written yet.
    file.write_bytes(file.read_bytes()[:-3])
    trials = (run.path / "trials.jsonl").read_text().splitlines(keepends=True)
    (run.path / "trials.jsonl").write_text(trials[0])
    assert [each.key.question_id for each in run.transcripts()] == ["a"]
    assert len(run_experiment(experiment, shop / "run").trials()) == 2
    assert [each.key.question_id for each in run.transcripts()] == ["a", "b"]
    # Killed between transcript and trial: the trial is run again, and its last one counts.
    (run.path / "trials.jsonl").write_text(trials[0])
    run_experiment(experiment, shop / "run")
    assert [each.key.question_id for each in run.transcripts()] == ["a", "b"]


def test_without_transcripts_nothing_that_was_said_is_on_disk(shop: Path) -> None:
    models = ("scripted:perfect", "scripted:no_query", "scripted:gives_up", "scripted:hesitating")
    run = run_experiment(make(shop, models=models, transcripts=False), shop / "run")
    told = run_experiment(make(shop, models=models), shop / "told")
    report = load_run(run.path)
    assert not (run.path / "transcripts.jsonl.gz").exists()
    for file in run.path.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert CELL.encode() not in content, file
        assert b"You are a data analyst" not in content, file
    # The same measurements all the same, of which the report is made.
    outcomes = [
        [(t.key, t.status, t.sql, t.verdict) for t in each.trials()] for each in (run, told)
    ]
    assert outcomes[0] == outcomes[1]
    assert [len(t.steps) for t in run.trials()] == [len(t.steps) for t in told.trials()]
    assert [t.error for t in run.trials() if t.status == "no_query"] == [
        "the model answered without running a query"
    ] * 2
    assert report.report.stat().st_size > 0
    assert CELL.encode() in (told.path / "trials.jsonl").read_bytes()
    # Gold's rows are of the same data: kept where the result's are, and not otherwise.
    assert all(gold.first_rows for gold in told.golds())
    assert not any(gold.first_rows for gold in run.golds())


def test_a_run_goes_on_with_or_without_and_a_fork_takes_them_over(shop: Path) -> None:
    run = run_experiment(make(shop, question_ids=("a",)), shop / "run")
    assert run_experiment(make(shop, question_ids=("a",), transcripts=False), run.path).trials()
    more = make(shop)
    out, family = find_fork(more, run.path, None)
    forked = run_experiment(more, out, fork_from=family)
    assert next(forked.transcripts()) == next(run.transcripts())
    assert [each.key.question_id for each in forked.transcripts()] == ["a", "b"]
    untold = make(shop, replicas=2, transcripts=False)
    out, family = find_fork(untold, run.path, None)
    forked = run_experiment(untold, out, fork_from=family)
    assert list(forked.transcripts()) == []
    assert CELL not in (forked.path / "trials.jsonl").read_text()
    assert CELL not in (forked.path / "gold.jsonl").read_text()
    assert len(forked.trials()) == 4


def mask(column: str, value: object) -> object:
    if column == "c":
        raise ValueError(value)
    return f"<{column}>" if isinstance(value, str) else value


def test_a_redaction_covers_what_is_shown_and_kept_and_not_what_is_judged(shop: Path) -> None:
    experiment = make(shop, redact=f"{__name__}:mask", models=("scripted:hesitating",))
    run = run_experiment(experiment, shop / "run", redaction=mask)
    a, b = run.trials()
    for trial in (a, b):
        assert trial.verdict is not None
        assert trial.verdict.exact
    assert a.first_rows == (("<name>",),)
    assert b.first_rows == (("[redaction failed: ValueError]",),)
    assert [gold.first_rows for gold in run.golds()] == [a.first_rows, b.first_rows]
    load_run(run.path)
    for file in run.path.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            content = gzip.decompress(content) if file.suffix == ".gz" else content
            assert CELL.encode() not in content, file
    shown = [str(m.content) for each in run.transcripts() for m in each.messages]
    assert any("n\tname\n1\t<name>" in text for text in shown)  # get_schema's sample
    assert run.manifest.experiment.redact == f"{__name__}:mask"


@pytest.mark.parametrize("changes", [{"redact": f"{__name__}:mask"}, {"transcripts": False}])
def test_scoring_a_run_again_brings_nothing_back(shop: Path, changes: dict[str, Any]) -> None:
    run = run_experiment(make(shop, **changes), shop / "run", redaction=mask)
    again = rescore(run, run.manifest.experiment, shop / "again")
    assert [trial.verdict for trial in again.trials()] == [trial.verdict for trial in run.trials()]
    assert CELL not in (again.path / "trials.jsonl").read_text()


def test_a_line_of_the_file_is_plain_json(shop: Path) -> None:
    run = run_experiment(make(shop, question_ids=("b",)), shop / "run")
    (line,) = gzip.decompress((run.path / "transcripts.jsonl.gz").read_bytes()).splitlines()
    assert set(json.loads(line)) == {"transcript_version", "key", "messages", "calls"}
