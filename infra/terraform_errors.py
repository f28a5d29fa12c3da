"""What Terraform says went wrong, in a line or two, and what to do about it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

__all__ = ["explained"]

_SENTENCES: Final = 2
_CHARACTERS: Final = 400
_FRAME: Final = re.compile(r"^[╷│╵] ?", re.M)
_ERROR: Final = re.compile(r"^Error: (.+?)(?=^Error: |\Z)", re.M | re.S)
_LOCK_ID: Final = re.compile(r"^\s*ID:\s+(\S+)", re.M)

# What stands in it -> what to do; the first that fits.
_REMEDIES: Final = (
    (
        r"ExpiredToken|token .*expired|RequestExpired|SSO session has expired",
        "the AWS credentials have expired: log in again, or renew them",
    ),
    (
        r"No valid credential sources|failed to refresh cached credentials|NoCredentialProviders",
        "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN "
        "where they are temporary)",
    ),
    (
        r"InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient|AuthFailure",
        "AWS does not know these credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY",
    ),
    (
        r"AccessDenied|UnauthorizedOperation|not authorized to perform",
        "these credentials are not allowed to: ask for that permission, or take others",
    ),
    (
        r"BucketNotEmpty",
        "the bucket holds something: empty it, or give up --var force_destroy=false",
    ),
    (
        r"Failed to query available provider packages|Could not retrieve the list of available",
        "Terraform cannot get its AWS provider: it needs the network, or a mirror that "
        "TF_CLI_CONFIG_FILE names",
    ),
    (
        r"VcpuLimitExceeded|InsufficientInstanceCapacity|not supported in your requested",
        "take another type (--node-type), fewer nodes, another zone (--var availability_zone=...) "
        "or ask AWS for a larger quota",
    ),
)


def explained(command: str, said: str, directory: Path) -> str:
    """Return why a command of Terraform's failed.

    Args:
        command: The command.
        said: All that it printed.
        directory: Where it ran.
    """
    text = _FRAME.sub("", said)
    errors = [" ".join(_sentences(found)) for found in _ERROR.findall(text)]
    told = "; ".join(dict.fromkeys(errors[:_SENTENCES])) or _last_line(text)
    told = told[:_CHARACTERS].rstrip(".")
    return f"terraform {command}: {told}. {_remedy(command, text, directory)}"


def _remedy(command: str, text: str, directory: Path) -> str:
    chdir = shlex.quote(f"-chdir={directory}")
    lock = _LOCK_ID.search(text)
    if "Error acquiring the state lock" in text:
        unlock = f"terraform {chdir} force-unlock {lock[1] if lock else 'ID'}"
        return f"Another Terraform is at work there. If it was killed: {unlock}"
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, text):
            return remedy[0].upper() + remedy[1:]
    return f"All of it again: terraform {chdir} {command}"


def _sentences(error: str) -> list[str]:
    """Return an error's title and the first paragraph of what follows it."""
    title, _, rest = error.strip().partition("\n")
    paragraphs = [
        " ".join(part.split())
        for part in re.split(r"\n\s*\n", rest.strip())
        if part.strip() and not re.match(r"\s*(with|on) \S", part)
    ]
    return [title.strip().rstrip(":"), *(f"({part})" for part in paragraphs[:1] if part != title)]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
