"""Faults as the providers' clients raise them, told apart without importing the clients."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bothends.agent.retry import RetryPolicy, call_with_retry
from bothends.infra.errors import ProviderError, ReplayError

QUICK = RetryPolicy(attempts=4, first_wait_s=0.001, max_wait_s=0.004, total_wait_s=1)


class StatusError(Exception):
    """As openai, anthropic and ollama raise it."""

    def __init__(self, status: int, message: str = "", headers: Any = None) -> None:
        super().__init__(message or f"status {status}")
        self.status_code = status
        self.response = SimpleNamespace(headers=headers or {})


class CodeError(Exception):
    """As google-genai raises it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{code} from Google")
        self.code = code


class TransportError(Exception):
    """The root of httpx's."""


class ReadTimeout(TransportError):  # noqa: N818 - httpx's name for it
    pass


class WrappedError(Exception):
    """As langchain-google-genai wraps it."""


class Calls:
    """A call that fails with these errors, in order, and then succeeds."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def ignore(_seconds: float, _error: BaseException) -> None:
    pass


@pytest.mark.parametrize(
    "error",
    [
        *(StatusError(status) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        StatusError(429, "rate limit of requests with a long context window"),
        CodeError(429),
        CodeError(503),
        ReadTimeout("read timed out"),
        ConnectionRefusedError("refused"),
        TimeoutError("timed out"),
        json.JSONDecodeError("Expecting value", "<html>", 0),
        KeyError("choices"),
        IndexError("list index out of range"),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    calls = Calls(error)
    assert call_with_retry(calls, QUICK, ignore) == "done"
    assert calls.made == 2


@pytest.mark.parametrize(
    "error",
    [
        *(StatusError(status) for status in (400, 401, 403, 404, 422)),
        CodeError(400),
        RuntimeError("nonsense"),
        StatusError(500, "the request exceeds the available context size"),
        StatusError(429, "Error code: 429 - insufficient_quota"),
    ],
    ids=str,
)
def test_what_will_not_pass_is_final(error: Exception) -> None:
    calls = Calls(error)
    with pytest.raises(ProviderError) as caught:
        call_with_retry(calls, QUICK, ignore)
    assert calls.made == 1
    assert caught.value.__cause__ is error


def test_the_status_may_be_that_of_the_cause() -> None:
    wrapped = WrappedError("Error calling model")
    wrapped.__cause__ = CodeError(429)
    calls = Calls(wrapped)
    assert call_with_retry(calls, QUICK, ignore) == "done"


def test_waits_double_up_to_the_longest() -> None:
    waits: list[float] = []
    policy = RetryPolicy(attempts=6, first_wait_s=0.001, max_wait_s=0.005, total_wait_s=1)
    call_with_retry(Calls(*[StatusError(500)] * 5), policy, lambda s, _: waits.append(s))
    bounds = [(0.001, 0.002), (0.002, 0.003), (0.004, 0.005), (0.005, 0.005), (0.005, 0.005)]
    assert all(low <= wait <= high for wait, (low, high) in zip(waits, bounds, strict=True))


def test_the_fault_is_told_before_each_wait() -> None:
    told: list[BaseException] = []
    errors = [StatusError(500), TimeoutError("late")]
    call_with_retry(Calls(*errors), QUICK, lambda _, error: told.append(error))
    assert told == errors


def test_gives_up_after_the_last_attempt() -> None:
    calls = Calls(*[StatusError(503, "overloaded")] * 9)
    with pytest.raises(ProviderError, match=r"\(503\); gave up after 4 attempts: overloaded"):
        call_with_retry(calls, QUICK, ignore)
    assert calls.made == 4


@pytest.mark.parametrize("name", ["retry-after", "Retry-After"])
def test_retry_after_in_seconds(name: str) -> None:
    waits: list[float] = []
    calls = Calls(StatusError(429, headers={name: "0.02"}))
    call_with_retry(calls, QUICK, lambda s, _: waits.append(s))
    assert waits == [0.02]


def test_retry_after_as_a_date() -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    error = StatusError(429, headers={"retry-after": format_datetime(until, usegmt=True)})
    calls = Calls(error)
    with pytest.raises(
        ProviderError, match=r"gave up after 1 attempt \(it asked to wait 3[56]\d\d s\)"
    ):
        call_with_retry(calls, QUICK, ignore)
    past = StatusError(429, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    assert call_with_retry(Calls(past), QUICK, ignore) == "done"


@pytest.mark.parametrize("value", ["soon", "nan", "-5", ""])
def test_a_retry_after_that_says_nothing_is_passed_over(value: str) -> None:
    waits: list[float] = []
    calls = Calls(StatusError(429, headers={"retry-after": value}))
    assert call_with_retry(calls, QUICK, lambda s, _: waits.append(s)) == "done"
    assert 0.001 <= waits[0] <= 0.002


def test_a_wait_beyond_the_total_is_not_begun() -> None:
    calls = Calls(StatusError(429, headers={"retry-after": "3600"}))
    waits: list[float] = []
    with pytest.raises(ProviderError, match="asked to wait"):
        call_with_retry(calls, QUICK, lambda s, _: waits.append(s))
    assert not waits
    assert calls.made == 1


def test_our_own_errors_pass_as_they_are() -> None:
    error = ReplayError("another course")
    with pytest.raises(ReplayError) as caught:
        call_with_retry(Calls(error), QUICK, ignore)
    assert caught.value is error


def test_an_interrupt_passes_as_it_is() -> None:
    with pytest.raises(KeyboardInterrupt):
        call_with_retry(Calls(KeyboardInterrupt()), QUICK, ignore)


def test_keys_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "0123456789abcdef")
    error = StatusError(401, "bad keys sk-proj-abcdefghijkl and 0123456789abcdef")
    with pytest.raises(ProviderError) as caught:
        call_with_retry(Calls(error), QUICK, ignore)
    assert "abcdef" not in str(caught.value)


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(ProviderError, match=r"its client failed \(RuntimeError: nonsense\)"):
        call_with_retry(Calls(RuntimeError("nonsense")), QUICK, ignore)
