"""What went wrong in a recorded run goes wrong alike when it is replayed, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.runner import run_experiment

from .conftest import COUNT, QUICK
from .server import FaultyServer, Reply, call, calls, refusal, said, whole

ANSWER = calls(call("run_query", sql=COUNT), usage=(100, 20))
HALF_COUNTED = json.dumps(json.loads(ANSWER.body) | {"usage": {"prompt_tokens": 100}}).encode()

COURSES: dict[str, list[Reply]] = {
    "retried": [refusal(503), whole([]), ANSWER],
    "given up": [whole([])] * QUICK.attempts,
    "too long": [calls(call("list_tables")), refusal(400, "maximum context length is 8192")],
    "not JSON": [calls(("run_query", '{"sql": "SEL'), finish_reason="length"), ANSWER],
    "cut": [said("I would", finish_reason="length")],
    "refused": [said(None, refusal="I will not.")],
    "filtered": [said("", finish_reason="content_filter")],
    "filtered before": [refusal(400, "filtered", code="content_filter")],
    "no usage": [calls(call("run_query", sql=COUNT), usage=None)],
    "half a usage": [Reply(HALF_COUNTED)],
}


@pytest.mark.parametrize("replies", COURSES.values(), ids=COURSES)
def test_a_recorded_fault_is_replayed(
    replies: list[Reply], server: FaultyServer, shop: Path, tmp_path: Path
) -> None:
    file, recording = tmp_path / "questions.jsonl", tmp_path / "r.jsonl"
    file.write_text(json.dumps({"id": "1", "question": "How many?", "gold": COUNT}) + "\n")
    live = Experiment(
        suite=str(file),
        engine=f"sqlite:///{shop}",
        data=shop,
        models=("openai:small",),
        base_url=server.url,
        regimen=Regimen(warmups=0, repeats=1),
        retry=QUICK,
    )
    server.answers(*replies)
    (old,) = run_experiment(live, tmp_path / "live", record=recording).trials()
    assert len(server.requests) == len(replies)
    again = live.model_copy(update={"models": (f"replay:{recording}",)})
    (new,) = run_experiment(again, tmp_path / "again").trials()
    assert len(server.requests) == len(replies)
    assert (new.status, new.sql, new.usage) == (old.status, old.sql, old.usage)
    if old.status == "no_query":
        assert new.error == old.error
    assert server.url not in recording.read_text()
