"""Traces as a collector receives them, and as LangChain's own handlers see them."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

import bothends

from .conftest import COUNT
from .server import FaultyServer, call, calls, refusal, said

ANSWER = calls(call("run_query", sql=COUNT), usage=(100, 20))


@dataclass
class Collector:
    """What an OpenTelemetry collector was sent."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    hangs_s: float = 0.0
    status: int = 200

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    state = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(state.hangs_s)
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
            assert self.path == "/v1/traces"
            for resource in request.resource_spans:
                state.services.add(attributes(resource.resource)["service.name"])
                for scope in resource.scope_spans:
                    state.spans += scope.spans
            self.send_response(state.status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", state.url)
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def attributes(holder: Any) -> dict[str, Any]:
    return {
        each.key: getattr(each.value, str(each.value.WhichOneof("value")))
        for each in holder.attributes
    }


@pytest.fixture
def settings(server: FaultyServer, shop: Path, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "questions.jsonl"
    lines = [{"id": str(i), "question": f"{i}: how many?", "gold": COUNT} for i in range(2)]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return {
        "suite": str(file),
        "engine": f"sqlite:///{shop}",
        "data": shop,
        "models": ["openai:small"],
        "base_url": server.url,
        "out": tmp_path / "run",
        "warmups": 0,
        "repeats": 1,
        "retry": bothends.RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002),
    }


def test_a_trial_is_a_span_of_its_calls(
    collector: Collector, server: FaultyServer, settings: dict[str, Any]
) -> None:
    one = [
        refusal(503),
        calls(call("check_query", sql=COUNT), usage=(30, 3)),
        said(f"```sql\n{COUNT}\n```", usage=(40, 4)),
        calls(call("run_query", sql="SELECT nothing FROM nowhere"), usage=(50, 5)),
    ]
    server.answers(*one, ANSWER)
    run = bothends.run(**settings)
    assert [trial.status for trial in run.trials] == ["failed", "ok"]
    assert collector.services == {"bothends"}
    first, second = sorted(collector.named("invoke_agent bothends"), key=start_of)
    assert first.trace_id != second.trace_id
    assert not first.parent_span_id
    assert attributes(first)["gen_ai.operation.name"] == "invoke_agent"
    assert attributes(first)["bothends.question.id"] == "0"

    mine = sorted((s for s in collector.spans if s.trace_id == first.trace_id), key=start_of)
    by_id = {span.span_id: span for span in mine}
    tree = [
        (span.name, by_id[span.parent_span_id].name if span.parent_span_id else None)
        for span in mine
    ]
    agent, check = "invoke_agent bothends", "execute_tool check_query"
    assert tree == [
        (agent, None),
        ("chat small", agent),
        ("chat small", agent),
        (check, agent),
        ("chat small", check),
        ("chat small", agent),
        ("execute_tool run_query", agent),
    ]
    failed, asked, _, checked, _, query = mine[1:]
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert attributes(failed)["error.type"] == "503"
    assert "gen_ai.usage.input_tokens" not in attributes(failed)
    assert asked.kind == Span.SPAN_KIND_CLIENT
    found = attributes(asked)
    assert found["gen_ai.operation.name"] == "chat"
    assert found["gen_ai.provider.name"] == found["gen_ai.system"] == "openai"
    assert found["gen_ai.request.model"] == "small"
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (30, 3)
    assert attributes(checked)["gen_ai.usage.output_tokens"] == 4
    found = attributes(query)
    assert (found["gen_ai.operation.name"], found["gen_ai.tool.name"]) == (
        "execute_tool",
        "run_query",
    )
    assert found["error.type"] == "failed"
    for span in mine:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert first.start_time_unix_nano <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= first.end_time_unix_nano
    # What was asked and run is content, which is sent only where that is asked for.
    assert "nowhere" not in str(collector.spans)
    assert "how many" not in str(collector.spans)


def start_of(span: Span) -> int:
    return span.start_time_unix_nano


def test_the_query_is_sent_where_that_is_asked_for(
    collector: Collector,
    server: FaultyServer,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    server.answer = lambda _: ANSWER
    bothends.run(**settings)
    queries = collector.named("execute_tool run_query")
    assert [attributes(span)["db.query.text"] for span in queries] == [COUNT] * 2


def test_what_ends_a_trial_is_on_its_span(
    collector: Collector, server: FaultyServer, settings: dict[str, Any]
) -> None:
    server.answer = lambda _: refusal(400, "maximum context length is 8192 tokens")
    run = bothends.run(**settings)
    assert {trial.status for trial in run.trials} == {"gave_up"}
    for span in collector.named("invoke_agent bothends"):
        assert attributes(span)["error.type"] == "ContextOverflowError"


def test_trials_that_overlap_do_not_mix(
    collector: Collector, server: FaultyServer, settings: dict[str, Any]
) -> None:
    server.answer = lambda _: replace(ANSWER, delay_s=0.02)
    bothends.run(**settings, replicas=5, concurrency=5)
    roots = {span.trace_id: span for span in collector.named("invoke_agent bothends")}
    assert len(roots) == 10
    for span in collector.named("chat small"):
        assert span.parent_span_id == roots[span.trace_id].span_id
    assert len(collector.spans) == 30


def test_one_question_is_traced_too(
    collector: Collector, server: FaultyServer, settings: dict[str, Any]
) -> None:
    server.answers(ANSWER)
    answer = bothends.ask(
        "How many?", model="openai:small", engine=settings["engine"], base_url=server.url
    )
    assert answer.status == "ok"
    assert len(collector.spans) == 3


@pytest.mark.parametrize("trouble", ["not there", "hangs", "refuses"])
def test_a_collector_in_trouble_costs_a_line(
    trouble: str,
    collector: Collector,
    server: FaultyServer,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.answer = lambda _: ANSWER
    collector.hangs_s = 60.0 if trouble == "hangs" else 0.0
    collector.status = 403 if trouble == "refuses" else 200
    if trouble == "not there":
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    start_s = time.monotonic()
    run = bothends.run(**settings)
    assert [trial.status for trial in run.trials] == ["ok", "ok"]
    assert time.monotonic() - start_s < 20
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("bothends: ")
    assert "trace" in line


def test_a_missing_extra_is_a_line_and_no_failure(
    server: FaultyServer,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "bothends.agent.telemetry_export", None)
    server.answer = lambda _: ANSWER
    assert {trial.status for trial in bothends.run(**settings).trials} == {"ok"}
    (line,) = [record.getMessage() for record in caplog.records]
    assert "pip install 'bothends[otel]'" in line


def test_nothing_is_traced_unasked(
    server: FaultyServer, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bothends.agent.telemetry_export", None)
    server.answer = lambda _: ANSWER
    assert {trial.status for trial in bothends.run(**settings).trials} == {"ok"}


class Noting(BaseCallbackHandler):
    """As LangSmith's, Langfuse's and MLflow's handlers see a trial."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_chain_start(
        self, *args: Any, run_id: UUID, parent_run_id: UUID | None, **more: Any
    ) -> None:
        if parent_run_id is None:
            self.seen.append(str(more.get("name")))

    def on_chat_model_start(self, *args: Any, **more: Any) -> None:
        self.seen.append("chat")

    def on_llm_error(self, error: BaseException, **more: Any) -> None:
        self.seen.append("failed")

    def on_tool_end(self, output: Any, **more: Any) -> None:
        self.seen.append(output.name)


def test_handlers_of_ones_own_see_every_call(
    server: FaultyServer, settings: dict[str, Any]
) -> None:
    course = [refusal(503), calls(call("list_tables")), ANSWER]
    expected = ["bothends", "chat", "failed", "chat", "list_tables", "chat", "run_query"]
    noting = Noting()
    server.answers(*course, *course)
    bothends.run(**settings, callbacks=[noting])
    assert noting.seen == expected * 2
    noting = Noting()
    server.answers(*course[1:])
    bothends.ask(
        "How many?",
        model="openai:small",
        engine=settings["engine"],
        base_url=server.url,
        callbacks=[noting],
    )
    assert noting.seen == ["bothends", "chat", "list_tables", "chat", "run_query"]
