"""Reads a file of questions or predictions; what is wrong in it is named with file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bothends.infra.errors import DataError

__all__ = ["field_of", "read_entries", "read_json", "read_text"]


def read_entries(file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the entries of a file, each with where it stands, for messages.

    A `.jsonl` file holds an object a line; a `.json` file a list of objects; a `.yaml` or `.yml`
    file a list of mappings, or one such list under `questions`.

    Raises:
        DataError: If it cannot be read, is not what its name says, or holds no entry.
    """
    if file.suffix == ".jsonl":
        lines = read_text(file).split("\n")
        found = [
            (f"{file}, line {number}", _json(line, file, number - 1))
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
    else:
        whole = _yaml(file) if file.suffix in {".yaml", ".yml"} else read_json(file)
        if isinstance(whole, Mapping) and isinstance(whole.get("questions"), list):
            whole = whole["questions"]
        if not isinstance(whole, list):
            raise DataError(f"{file} must hold a list of entries, but holds {_kind(whole)}")
        found = [(f"{file}, entry {number}", each) for number, each in enumerate(whole, start=1)]
    for where, entry in found:
        if not isinstance(entry, Mapping):
            raise DataError(f"{where}: must be an object with named fields, but is {_kind(entry)}")
    if not found:
        raise DataError(f"{file} holds no entry")
    return found


def field_of(entry: Mapping[str, Any], where: str, *names: str, default: str | None = None) -> str:
    """Return a field as text, by the first of its names that is there.

    Args:
        entry: The entry.
        where: Where it stands, for messages.
        names: The names the field may have.
        default: What it is where it is missing; None where it must not be.

    Raises:
        DataError: If it is missing, or neither text nor a whole number.
    """
    for name in names:
        value = entry.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise DataError(f"{where}: {name!r} must be text, but is {_kind(value)}")
        return str(value)
    if default is None:
        raise DataError(f"{where}: there is no {' or '.join(map(repr, names))}")
    return default


def read_json(file: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        DataError: If it cannot be read or is not JSON.
    """
    return _json(read_text(file), file, 0)


def read_text(file: Path) -> str:
    """Return a file's text.

    Raises:
        DataError: If it cannot be read, is empty, or is not UTF-8.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    if not text.strip():
        raise DataError(f"{file} is empty")
    return text


def _json(text: str, file: Path, lines_before: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = lines_before + error.lineno
        raise DataError(f"{file}, line {line} is not JSON: {error.msg}") from None
    except RecursionError:
        raise DataError(f"{file} is nested too deeply") from None


def _yaml(file: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{file}{line} is not YAML: {getattr(error, 'problem', error)}") from None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "null", bool: "true/false"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float) else "something else"
    )
