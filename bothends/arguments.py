"""Arguments of the Python API as settings, with errors in our words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bothends.infra.errors import UsageError

__all__ = ["made", "names"]

_Model = TypeVar("_Model", bound=BaseModel)


def made(kind: type[_Model], **fields: Any) -> _Model:
    """Make a pydantic model of arguments.

    Raises:
        UsageError: If one does not fit; the message names it.
    """
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def names(values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names as a tuple; one name alone, which is a sequence of letters too, is one."""
    if values is None:
        return None
    return (values,) if isinstance(values, str) else tuple(values)
