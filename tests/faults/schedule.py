"""A seeded schedule of faults: what the server answers to each request, and what must come of it.

What a trial must end as is worked out here from the schedule alone, by the rules of the README,
before any of it is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from threading import Lock

from .server import Reply, Request, call, calls, refusal, said, texts, whole

ATTEMPTS = 4
MAX_TURNS = 3
USAGE_OF_LOST = (900_000, 900_000)
"""The tokens of replies that never arrive whole: one of them in a sum would not go unseen."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A whole reply, and the tokens that it reports."""

    reply: Reply
    usage: tuple[int, int] | None


@dataclass(slots=True)
class Plan:
    """One trial: its replies in order, and what must come of it."""

    replies: list[Reply] = field(default_factory=list)
    status: str = ""
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    waits: int = 0
    failed: int = 0


def passing(random: Random) -> Reply:
    """Draw a fault that passes."""
    lost = said("lost", usage=USAGE_OF_LOST)
    return random.choice(
        [
            refusal(429, "slow down", headers={"Retry-After": "0.002"}),
            refusal(500),
            refusal(502),
            refusal(503),
            refusal(529, "overloaded"),
            replace(lost, cut="before"),
            replace(lost, cut="middle"),
            replace(lost, cut="short"),
            Reply(lost.body[: len(lost.body) // 2]),
            Reply(b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"}),
            Reply(b'{"id": "x", "object": "chat.completion"}'),
            whole(None, USAGE_OF_LOST),
            whole([], USAGE_OF_LOST),
            whole([{"index": 0, "message": None, "finish_reason": "stop"}], USAGE_OF_LOST),
        ]
    )


def draw(random: Random, sql: str, fault_rate: float) -> Plan:
    """Draw a trial: a course that the model takes, and the faults on the way."""
    plan = Plan()

    def usage() -> tuple[int, int]:
        return random.randint(20, 400), random.randint(1, 60)

    def ask(make: Reply, reported: tuple[int, int] | None) -> bool:
        """Add a request with the faults before it; return whether it is answered."""
        failed = 0
        while random.random() < fault_rate:
            plan.replies.append(passing(random))
            failed += 1
            plan.failed += 1
            if failed == ATTEMPTS:
                plan.status = "provider_error"
                return False
            plan.waits += 1
        plan.replies.append(make)
        if reported is None:
            plan.input_tokens = plan.output_tokens = None
        elif plan.input_tokens is not None and plan.output_tokens is not None:
            plan.input_tokens += reported[0]
            plan.output_tokens += reported[1]
        return True

    def fail(status: str, reply: Reply) -> None:
        """End with an error that is final: nothing more is asked."""
        plan.replies.append(reply)
        plan.failed += 1
        plan.status = status

    courses = ("run", "look", "stumble", "wrong", "talk", "filter", "cut", "silent", "loop")
    ends = ("overflow", "bad request")
    course = random.choices((*courses, *ends), (30, 10, 8, 4, 3, 2, 3, 3, 2, 3, 2))[0]
    run = call("run_query", sql=sql)
    one = usage()
    if course in {"look", "stumble"}:
        first = call("list_tables") if course == "look" else ("run_query", '{"sql": "SELEC')
        if not ask(calls(first, usage=one), one):
            return plan
        one = usage()
    if course in {"run", "look", "stumble"}:
        if ask(calls(run, usage=one), one):
            plan.status = "ok"
    elif course == "wrong":
        if ask(calls(call("run_query", sql="SELECT nothing FROM nowhere"), usage=one), one):
            plan.status = "failed"
    elif course == "silent":
        if ask(calls(run, usage=None), None):
            plan.status = "ok"
    elif course == "loop":
        for _ in range(MAX_TURNS):
            if not ask(calls(call("list_tables"), usage=one), one):
                return plan
            one = usage()
        plan.status = "gave_up"
    elif course == "overflow":
        fail(
            "gave_up",
            refusal(400, "maximum context length is 8192", code="context_length_exceeded"),
        )
    elif course == "bad request":
        fail("provider_error", refusal(400, "bad parameter"))
    else:
        reply = {
            "talk": said("It is a matter of taste.", usage=one),
            "filter": said("", usage=one, finish_reason="content_filter"),
            "cut": said("SELECT COUNT(*) FROM item WHERE pri", usage=one, finish_reason="length"),
        }[course]
        if ask(reply, one):
            plan.status = "no_query"
    return plan


class Schedule:
    """The plans of all trials, and how far each has come; many threads may ask.

    Args:
        models: The models' names.
        questions: The questions' texts, each another, with their gold.
        seed: The seed.
        fault_rate: How often an attempt fails for a reason that passes.
    """

    def __init__(
        self,
        models: Sequence[str],
        questions: Sequence[tuple[str, str]],
        seed: int,
        fault_rate: float,
    ) -> None:
        self.plans = {
            (model, text): draw(Random(f"{seed}/{model}/{text}"), sql, fault_rate)  # noqa: S311
            for model in models
            for text, sql in questions
        }
        self._next = dict.fromkeys(self.plans, 0)
        self._lock = Lock()
        self.input_tokens = self.output_tokens = 0

    def answer(self, request: Request) -> Reply:
        """Answer a request by its trial's plan, and count what a whole reply reports."""
        text = texts(request, "user")[0].splitlines()[0]
        key = str(request["model"]), text
        with self._lock:
            position = self._next[key]
            self._next[key] += 1
            reply = self.plans[key].replies[position]
            self._count(reply)
        return reply

    def exhausted(self) -> bool:
        """Whether each trial has asked for all of its replies; for more, the server has none."""
        return all(self._next[key] == len(plan.replies) for key, plan in self.plans.items())

    def _count(self, reply: Reply) -> None:
        if reply.cut or reply.status != 200:
            return
        try:
            body = json.loads(reply.body)
            usage = body["choices"][0]["message"] and body["usage"]
        except (ValueError, LookupError, TypeError):
            return
        if usage:
            self.input_tokens += usage["prompt_tokens"]
            self.output_tokens += usage["completion_tokens"]
