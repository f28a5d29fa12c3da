"""Keeping secrets out of messages and records."""

from __future__ import annotations

import os
import re

__all__ = ["redact"]

_SHAPES = re.compile(
    r"""
    \b(?:sk|pk|rk|xai|gsk|ghp|hf)[-_][A-Za-z0-9_\-*]{8,}      # keys of the usual providers
    | \bAIza[A-Za-z0-9_\-]{10,}                              # Google
    | \b(?:AKIA|ASIA)[A-Z0-9]{12,}                           # AWS
    | (?<=Bearer\ )[A-Za-z0-9._~+/=\-]{8,}
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)                        # user:password in a URL
    """,
    re.VERBOSE,
)
_SECRET_NAMES = ("_KEY", "_TOKEN", "_SECRET", "PASSWORD")
_SHORTEST_SECRET = 8


def redact(text: str) -> str:
    """Return a text with what looks like a secret, or is one in the environment, replaced."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_SECRET and name.upper().endswith(_SECRET_NAMES):
            text = text.replace(value, "[redacted]")
    return _SHAPES.sub("[redacted]", text)
