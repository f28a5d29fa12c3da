"""Retrying a model's provider: what is worth another attempt, and how long to wait for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from bothends.infra.errors import (
    BothendsError,
    ContextOverflowError,
    ProviderError,
    RefusedError,
)
from bothends.infra.redact import redact

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["RetryPolicy", "call_with_retry"]

T = TypeVar("T")

_TRANSIENT_STATUSES = frozenset({408, 409, 429})
# By name, so that no client has to be imported: those of openai, anthropic, google-genai and
# langchain-core, and the roots of httpx's and requests' families.
_TRANSIENT_CLASSES = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "ConnectionError",
        "ModelConnectionError",
        "ModelTimeoutError",
        "Timeout",
        "TimeoutError",
        "TransportError",
    }
)
_OUT_OF_CREDIT = ("insufficient_quota", "credit balance is too low")
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "maximum number of tokens",
)
_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
    "openai": "OPENAI_API_KEY",
}
_ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and for how long, a provider's fault is put up with.

    Attributes:
        attempts: Attempts at most, the first one included.
        first_wait_s: Seconds before the second attempt; they double from one to the next, with
            up to this much added at random.
        max_wait_s: Seconds that one such wait lasts at most. A provider's Retry-After is
            honoured beyond it.
        total_wait_s: Seconds of waiting at most; a wait that would exceed it is not begun.
    """

    attempts: int = 6
    first_wait_s: float = 1.0
    max_wait_s: float = 60.0
    total_wait_s: float = 300.0


def call_with_retry(
    call: Callable[[], T], policy: RetryPolicy, on_wait: Callable[[float, BaseException], None]
) -> T:
    """Call a provider, again where its fault may pass.

    Another attempt follows the statuses 408, 409, 429, 5xx (529 among them), timeouts, and
    connections that fail; anything else is final, and so is a 429 for want of credit.

    Args:
        call: One attempt.
        policy: Attempts and waits.
        on_wait: Told the seconds and the fault before each wait.

    Returns:
        What the call returned.

    Raises:
        ContextOverflowError: If the conversation is longer than the model's context window.
        RefusedError: If the provider refused the key, the account or the model.
        ProviderError: If the provider refused this request, or kept failing. Secrets are redacted.
        BothendsError: If the call raised one: passed on as it is.
    """
    import tenacity

    backoff = tenacity.wait_exponential(multiplier=policy.first_wait_s) + tenacity.wait_random(
        0, policy.first_wait_s
    )

    def wait(state: RetryCallState) -> float:
        asked_s = _retry_after_s(_failure(state)) or 0.0
        return max(min(backoff(state), policy.max_wait_s), asked_s)

    def out_of_patience(state: RetryCallState) -> bool:
        waited_s = state.idle_for + state.upcoming_sleep
        return state.attempt_number >= policy.attempts or waited_s > policy.total_wait_s

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_transient),
        wait=wait,
        stop=out_of_patience,
        before_sleep=lambda state: on_wait(state.upcoming_sleep, _failure(state)),
        reraise=True,
    )
    try:
        return retrying(call)
    except BothendsError:
        raise
    except Exception as error:
        raise _kind(error)(_explain(error, retrying.statistics["attempt_number"])) from error


def _failure(state: RetryCallState) -> BaseException:
    error = state.outcome.exception() if state.outcome else None
    assert error is not None  # noqa: S101 - tenacity waits after a failure only
    return error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it: some clients wrap the error that has the status."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of a client's error, or None where it has none."""
    for link in _chain(error):
        for attribute in ("status_code", "code"):  # `code` is google-genai's
            value = getattr(link, attribute, None)
            if isinstance(value, int) and 400 <= value < 600:
                return int(value)
    return None


def _is_transient(error: BaseException) -> bool:
    if isinstance(error, BothendsError) or not isinstance(error, Exception):
        return False
    status = _status(error)
    if status is not None:
        may_pass = status in _TRANSIENT_STATUSES or status >= 500
        return may_pass and not _mentions(error, _OUT_OF_CREDIT)
    return any(kind.__name__ in _TRANSIENT_CLASSES for kind in type(error).__mro__)


def _kind(error: BaseException) -> type[ProviderError]:
    if _mentions(error, _TOO_LONG):
        return ContextOverflowError
    # Where it is not the request that is at fault, all others would fail as well.
    if _status(error) in {401, 402, 403, 404} or _mentions(error, _OUT_OF_CREDIT):
        return RefusedError
    return ProviderError


def _mentions(error: BaseException, phrases: tuple[str, ...]) -> bool:
    """Whether one of these phrases stands in an error's message or in the body it came with."""
    said = f"{error} {getattr(error, 'body', '')}".lower()
    return any(phrase in said for phrase in phrases)


def _retry_after_s(error: BaseException) -> float | None:
    """Return the seconds that a provider asks to wait (RFC 9110, section 10.2.3), or None."""
    for link in _chain(error):
        headers = getattr(getattr(link, "response", None), "headers", None) or {}
        given = headers.get("retry-after") or headers.get("Retry-After")
        if not given:
            continue
        if re.fullmatch(r"\d+(\.\d+)?", given):
            return float(given)
        try:
            until = parsedate_to_datetime(given)
        except ValueError:
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    return None


def _explain(error: Exception, attempts: int) -> str:
    """Say in a sentence what the provider did, and what to do next."""
    status = _status(error)
    said = redact(" ".join(str(error).split()))[:_ERROR_CHARACTERS]
    if status in {401, 403}:
        variable = next(
            (_VARIABLES[root] for link in _chain(error) if (root := _package(link)) in _VARIABLES),
            "the provider's variable",
        )
        return f"the provider refused the key ({status}); check {variable}: {said}"
    if _mentions(error, _TOO_LONG):
        return f"the conversation is longer than the model's context window: {said}"
    if _mentions(error, _OUT_OF_CREDIT):
        return f"the account at the provider has no credit left: {said}"
    if status == 404:
        return f"the provider knows no such model or address (404); check its name: {said}"
    if _is_transient(error):
        cause = "cannot be reached" if status is None else f"kept failing ({status})"
        times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        wait_s = _retry_after_s(error)
        asked = f" (it asked to wait {wait_s:.0f} s)" if wait_s and wait_s >= 1 else ""
        return f"the provider {cause}; gave up after {times}{asked}: {said}"
    if status is not None:
        return f"the provider refused the request ({status}): {said}"
    return (
        "the reply is not what the provider's API promises, or its client failed "
        f"({type(error).__name__}: {said})"
    )


def _package(error: BaseException) -> str:
    """Return the provider whose client's class an error is: `openai`, `anthropic`, `google`..."""
    roots = (kind.__module__.split(".")[0] for kind in type(error).__mro__)
    return next((root for root in roots if root in _VARIABLES), "")
