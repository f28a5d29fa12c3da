"""An experiment's file to begin with, written from the model, so that it never goes stale."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from bothends.eval.experiment_file import file_fields
from bothends.infra.errors import UsageError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["template", "write_template"]

_WIDTH = 96
_HEAD = """\
# An experiment. Run it, or go on with it where it was stopped:
#     bothends run {file}
# An option that is given as well goes before what stands here. Fields may be left out: where
# there is a default, it is the value below. Paths are relative to the working directory. Keys
# never stand here: they come from the environment.
"""


def template(file: Path) -> str:
    """Return a commented file with every field: its default, or an example that needs no key.

    Args:
        file: What it will be called.
    """
    return _HEAD.format(file=file) + "".join(_lines(file_fields(), 0))


def write_template(file: Path) -> None:
    """Write a commented file, where there is none yet.

    Raises:
        UsageError: If there is one, or it cannot be written.
    """
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(template(file))
    except FileExistsError:
        raise UsageError(f"{file} exists, and is left as it is: name another file") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


def _lines(fields: Mapping[str, FieldInfo], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, info in fields.items():
        if not depth:
            yield "\n"
        for line in textwrap.wrap(info.description or "", _WIDTH - len(indent)):
            yield f"{indent}# {line}\n"
        value = _value(info)
        if isinstance(value, BaseModel):
            yield f"{indent}{name}:\n"
            yield from _lines(type(value).model_fields, depth + 1)
        else:
            yield f"{indent}{name}: {_as_yaml(value)}\n"


def _value(info: FieldInfo) -> Any:
    if info.is_required():
        return (info.examples or [None])[0]
    return info.get_default(call_default_factory=True)


def _as_yaml(value: Any) -> str:
    import yaml

    plain = list(value) if isinstance(value, tuple) else value
    plain = str(plain) if isinstance(plain, Path) else plain
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=1_000)
    return text.removesuffix("...\n").strip()
