"""Keeping secrets out of messages and records."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import quote, quote_plus, unquote

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["REDACTED", "Secrets", "redact", "safe_address"]

REDACTED: Final = "[redacted]"

_RecordT = TypeVar("_RecordT", bound="BaseModel")

_SHAPES: Final = re.compile(
    r"""
    \b(?:sk|pk|rk|xai|gsk|ghp|hf)[-_][A-Za-z0-9_\-*]{8,}      # keys of the usual providers
    | \bAIza[A-Za-z0-9_\-]{10,}                              # Google
    | \b(?:AKIA|ASIA)[A-Z0-9]{12,}                           # AWS
    | (?<=Bearer\ )[A-Za-z0-9._~+/=\-]{8,}
    | (?<=Basic\ )[A-Za-z0-9+/]{8,}={0,2}
    | (?<=://)[^\s/:@]*:(?!\d+[/?])\S+(?=@)                  # user:password in a URL
    | (?<=password=)[^\s&;'"]+ | (?<=token=)[^\s&;'"]+ | (?<=api_key=)[^\s&;'"]+
    """,
    re.VERBOSE,
)
_IN_ADDRESS: Final = re.compile(
    r"""://[^\s/:@]*:(?!\d+[/?])(\S+)@ | (?:password|token)=([^&;\s]+)""", re.VERBOSE
)
# What is under such a name is a secret.
_CERTAIN: Final = (
    "API_KEY",
    "PASSWORD",
    "PASSWD",
    "ACCESS_KEY",
    "ACCESS_KEY_ID",
    "SECRET_KEY",
    "SESSION_TOKEN",
)
# Under these there may be a plain word as well, such as the name of a column: a record would be
# spoilt where each of those was replaced. A secret has a digit.
_LIKELY: Final = ("_KEY", "_TOKEN", "_SECRET")
# Passwords that keep nothing secret, and are words of many records.
_COMMON: Final = frozenset({"changeme", "database", "localhost", "password", "postgres"})
_SHORTEST_SECRET: Final = 8
_SECRET_PARAMETERS: Final = frozenset(
    {"access_token", "api_key", "apikey", "authorization", "key", "password", "secret", "token"}
)


class Secrets:
    """Values that must stand nowhere, and their places taken by `[redacted]`.

    Args:
        values: The secrets. One of less than eight characters is left out: it would stand in many
            words by chance.
    """

    def __init__(self, values: Iterable[str]) -> None:
        forms = {
            form
            for value in values
            if len(value) >= _SHORTEST_SECRET and value not in _COMMON
            for form in (value, quote(value), quote(value, safe=""), quote_plus(value))
        }
        forms |= {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
        # The longest first: one may be the beginning of another.
        longest_first = sorted(forms, key=len, reverse=True)
        self._forms = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    @classmethod
    def of_environment(cls, *addresses: str) -> Self:
        """Return those of the environment, by their variables' names, and those in addresses.

        Args:
            addresses: Such as `postgres://user:password@host/database`.
        """
        return cls([*_environment(), *(each for one in addresses for each in _in_address(one))])

    def __contains__(self, text: str) -> bool:
        """Whether one stands in a text."""
        return self._forms is not None and self._forms.search(text) is not None

    def clean(self, value: Any) -> Any:
        """Return a text, or a structure of mappings and lists, without them."""
        if self._forms is None:
            return value
        if isinstance(value, str):
            return self._forms.sub(REDACTED, value)
        if isinstance(value, Mapping):
            return {self.clean(key): self.clean(each) for key, each in value.items()}
        if isinstance(value, tuple):
            return tuple(map(self.clean, value))
        if isinstance(value, list):
            return list(map(self.clean, value))
        return value

    def cleaned(self, record: _RecordT, *kept: str) -> _RecordT:
        """Return a record without them.

        Args:
            record: The record.
            kept: Fields that stay as they are.
        """
        if record.model_dump_json(exclude=set(kept)) not in self:
            return record
        values = self.clean(record.model_dump(mode="json", exclude=set(kept)))
        return type(record).model_validate(values | {name: getattr(record, name) for name in kept})


def redact(text: str) -> str:
    """Return a text with what looks like a secret, or is one in the environment, replaced."""
    cleaned: str = Secrets.of_environment().clean(text)
    return _SHAPES.sub(REDACTED, cleaned)


def safe_address(address: str) -> str:
    """Return an HTTP address that may be recorded.

    Raises:
        ValueError: If there is a user, a password or a key in it. The message does not quote it.
    """
    _, _, query = address.partition("?")
    names = {part.partition("=")[0].lower() for part in query.split("&")}
    host = address.partition("://")[2].partition("/")[0]
    if "@" in host or names & _SECRET_PARAMETERS or address in Secrets.of_environment():
        raise ValueError("a secret does not belong in an address: it would be recorded")
    return address


def _environment() -> Iterator[str]:
    for name, value in os.environ.items():
        yield from _in_address(value)
        upper = name.upper()
        if upper.endswith(_CERTAIN) or (
            upper.endswith(_LIKELY) and any(letter.isdigit() for letter in value)
        ):
            yield value


def _in_address(address: str) -> Iterator[str]:
    for found in _IN_ADDRESS.findall(address):
        for secret in filter(None, found):
            yield from (secret, unquote(secret))
