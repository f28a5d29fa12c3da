"""Every call to AWS: which are tried again, and what is said of those that fail."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from bothends.infra.errors import BothendsError, CloudError, MissingExtraError

__all__ = ["Aws", "Clock"]

_Answer = TypeVar("_Answer")

_ATTEMPTS: Final = 8
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 30.0
_CONNECT_S: Final = 10
_READ_S: Final = 60
# By name, as botocore's own list of what is worth another attempt (its _retry.json).
_THROTTLED: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_EXPIRED: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
)
_UNKNOWN: Final = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_DENIED: Final = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden", "403"}
)
_CREDENTIALS: Final = (
    "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN where "
    "they are temporary)"
)


@dataclass(frozen=True, slots=True)
class Clock:
    """How time passes while a cloud is waited for.

    Attributes:
        now: Seconds of a clock that never goes back.
        sleep: Waits so many seconds.
        today: The time of day, in UTC.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


class Aws:
    """AWS in a region, with the credentials and the endpoint of the environment.

    What is throttled, fails at AWS's end or never arrives is tried again, with waits that grow and
    differ by chance. What is refused is not: trying again would end alike.

    Args:
        region: The region; that of the environment for None.
        clock: How time passes between two attempts.

    Attributes:
        clock: How time passes.
    """

    def __init__(self, region: str | None = None, clock: Clock | None = None) -> None:
        # boto3 itself does not know AWS_REGION, which AWS's other tools and Terraform do.
        self._region = region or os.environ.get("AWS_REGION")
        self.clock = clock or Clock()
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """Return boto3's client of a service; it tries nothing again by itself.

        Raises:
            MissingExtraError: If boto3 is not installed.
            CloudError: If it finds no region or no profile.
        """
        if service in self._clients:
            return self._clients[service]
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            raise MissingExtraError("boto3", "aws") from error
        config = Config(
            connect_timeout=_CONNECT_S,
            read_timeout=_READ_S,
            retries={"total_max_attempts": 1},
        )
        try:
            made = boto3.session.Session().client(service, region_name=self._region, config=config)
        except (BotoCoreError, ValueError) as error:
            raise _explained(error, f"use {service}") from error
        self._clients[service] = made
        return made

    @property
    def region(self) -> str:
        """The region's name."""
        return str(self.client("emr").meta.region_name)

    def ask(self, service: str, operation: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer to one request, such as `ask("emr", "describe_cluster", ClusterId=x)`.

        Raises:
            CloudError: If AWS refuses, or does not answer after several attempts.
            MissingExtraError: If boto3 is not installed.
        """
        request = getattr(self.client(service), operation)
        answer: dict[str, Any] = self.attempt(operation, lambda: request(**arguments))
        return answer

    def all(self, service: str, operation: str, key: str, **arguments: Any) -> list[Any]:
        """Return what all pages of an answer list together.

        Args:
            service: The service.
            operation: One that has pages.
            key: What the list is called in an answer.
            arguments: The request's.

        Raises:
            CloudError: As `ask`.
            MissingExtraError: As `ask`.
        """
        paginator = self.client(service).get_paginator(operation)

        def read() -> list[Any]:
            pages: Iterable[Any] = paginator.paginate(**arguments)
            return [each for page in pages for each in page.get(key, ())]

        return self.attempt(operation, read)

    def attempt(self, what: str, act: Callable[[], _Answer]) -> _Answer:
        """Do something, and again where it may yet succeed.

        Args:
            what: What it does, for the message.
            act: What is done; several times, perhaps.

        Raises:
            CloudError: If it fails for good.
        """
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError
        from tenacity import (
            Retrying,
            retry_if_exception,
            stop_after_attempt,
            wait_exponential_jitter,
        )

        retrying = Retrying(
            retry=retry_if_exception(_passing),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_exponential_jitter(_FIRST_WAIT_S, _LONGEST_WAIT_S, jitter=_FIRST_WAIT_S),
            sleep=self.clock.sleep,
            reraise=True,
        )
        try:
            return retrying(act)
        except (BotoCoreError, ClientError, Boto3Error) as error:
            raise _explained(error, what.replace("_", " ")) from error


def _code(error: BaseException) -> str:
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def _passing(error: BaseException) -> bool:
    """Tell whether the same request may succeed a little later."""
    from botocore.exceptions import ConnectionError as NoConnection
    from botocore.exceptions import HTTPClientError

    code = _code(error)
    if code in _THROTTLED:
        return True
    if code in _EXPIRED | _UNKNOWN | _DENIED:
        return False
    response = getattr(error, "response", None) or {}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status == 429 or status >= 500:
        return True
    return isinstance(error, (NoConnection, HTTPClientError))


def _explained(error: Exception, what: str) -> BothendsError:
    """Return what happened, and what to do about it."""
    from botocore.exceptions import (
        NoCredentialsError,
        NoRegionError,
        PartialCredentialsError,
        TokenRetrievalError,
    )

    code = _code(error)
    lines = str(error).strip().splitlines()
    said = lines[0].rstrip(".") if lines else type(error).__name__
    if code in _EXPIRED or isinstance(error, TokenRetrievalError):
        remedy = "the credentials have expired: log in again, or renew them"
    elif code in _UNKNOWN:
        remedy = f"AWS does not know these credentials: {_CREDENTIALS}"
    elif isinstance(error, (NoCredentialsError, PartialCredentialsError)):
        remedy = _CREDENTIALS
    elif isinstance(error, NoRegionError):
        remedy = "give --region, or set AWS_REGION"
    elif code in _DENIED:
        remedy = "these credentials are not allowed to: ask for that permission, or take others"
    elif _passing(error):
        remedy = f"AWS did not answer in {_ATTEMPTS} attempts; check the network and the region"
    else:
        remedy = ""
    hint = f". {remedy[0].upper()}{remedy[1:]}" if remedy else ""
    return CloudError(f"AWS: cannot {what}: {said}{hint}")
