"""Retrying a model's provider: what is worth another attempt, and how long to wait for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from bothends.infra.errors import (
    BothendsError,
    ContextOverflowError,
    ProviderError,
    RefusedError,
    WithheldError,
)
from bothends.infra.redact import redact

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["RetryPolicy", "call_with_retry", "fault_text"]

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
# What a client trips over in a reply that is cut short, not JSON, or without what it must hold;
# subclasses, such as json's and pydantic's errors, included.
_MALFORMED = (AttributeError, LookupError, TypeError, ValueError)
_OUT_OF_CREDIT = ("insufficient_quota", "credit balance is too low")
# OpenAI and most servers; vLLM; llama.cpp (its older versions with status 500); Anthropic; Google;
# Bedrock; TGI.
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "input tokens exceed",
    "maximum model length",
    "context size",
    "context limit",
    "prompt is too long",
    "prompt too long",
    "maximum number of tokens",
    "input is too long",
    "tokens + `max_new_tokens` must be",
)
_WITHHELD = ("content_filter", "content management policy", "content_policy_violation")
_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
    "openai": "OPENAI_API_KEY",
}
_ERROR_CHARACTERS = 300


class RetryPolicy(BaseModel):
    """How often, and for how long, a provider's fault is put up with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempts: int = Field(
        6, ge=1, description="Attempts at one LLM call at most, the first one included."
    )
    first_wait_s: float = Field(
        1.0,
        gt=0,
        description="Seconds before the second attempt; they double from one to the next, with up "
        "to this much added at random.",
    )
    max_wait_s: float = Field(
        60.0,
        gt=0,
        description="Seconds that one such wait lasts at most. A provider's Retry-After is "
        "honoured beyond it.",
    )
    total_wait_s: float = Field(
        300.0,
        ge=0,
        description="Seconds of waiting for one LLM call at most; a wait that would exceed it is "
        "not begun.",
    )


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
        WithheldError: If a content filter stopped the request.
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


def fault_text(error: BaseException) -> str:
    """Return what an error of a client says, in a line.

    A bare "Connection error." has what happened in its cause, and some messages leave the
    provider's code out.
    """
    *_, root = _chain(error)
    said, cause = (" ".join(str(each).split()) for each in (error, root))
    if _status(error) is None:
        return said if not cause or cause in said else f"{said} ({cause})"
    body = getattr(error, "body", None)
    code = str(body.get("code") or "") if isinstance(body, dict) else ""
    return f"{said} ({code})" if code not in said else said


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
    # A rate limit may name the window that it counts in; it passes all the same.
    final = _OUT_OF_CREDIT if status == 429 else (*_OUT_OF_CREDIT, *_TOO_LONG, *_WITHHELD)
    if _mentions(error, final):
        return False
    if status is not None:
        return status in _TRANSIENT_STATUSES or status >= 500
    return _is_malformed(error) or any(
        kind.__name__ in _TRANSIENT_CLASSES for kind in type(error).__mro__
    )


def _is_malformed(error: BaseException) -> bool:
    """Whether a reply came that its API does not promise: servers under load send such."""
    return isinstance(error, _MALFORMED) and _status(error) is None


def _kind(error: BaseException) -> type[ProviderError]:
    if _mentions(error, _TOO_LONG):
        return ContextOverflowError
    if _mentions(error, _WITHHELD):
        return WithheldError
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
    said = redact(fault_text(error))[:_ERROR_CHARACTERS]
    if status in {401, 403}:
        variable = next(
            (_VARIABLES[root] for link in _chain(error) if (root := _package(link)) in _VARIABLES),
            "the provider's variable",
        )
        return f"the provider refused the key ({status}); check {variable}: {said}"
    if _mentions(error, _TOO_LONG):
        return f"the conversation is longer than the model's context window: {said}"
    if _mentions(error, _WITHHELD):
        return f"a content filter stopped the request: {said}"
    if _mentions(error, _OUT_OF_CREDIT):
        return f"the account at the provider has no credit left: {said}"
    if status == 404:
        return f"the provider knows no such model or address (404); check its name: {said}"
    if _is_transient(error):
        if status is not None:
            cause = f"kept failing ({status})"
        elif _is_malformed(error):
            cause = f"sent no reply that its API allows ({type(error).__name__})"
        else:
            cause = "cannot be reached"
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
