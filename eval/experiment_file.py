"""An experiment as a YAML file: read, and what is wrong in it named with line and field."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import BaseModel, ValidationError

from bothends.eval.experiment import Experiment
from bothends.eval.suites.entries import read_text
from bothends.infra.errors import UsageError

if TYPE_CHECKING:
    import yaml
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

__all__ = ["file_fields", "nested_model", "read_experiment"]

_Path = tuple[str | int, ...]

_NULL: Final = "tag:yaml.org,2002:null"
_PLAIN: Final = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
)
# What pydantic says of these in words of its own.
_SAID: Final = {
    "dict_type": "must be a mapping of fields",
    "list_type": "must be a list, as in [a, b]",
    "missing": "is missing, and has no default",
    "model_attributes_type": "must be a mapping of fields",
    "model_type": "must be a mapping of fields",
    "tuple_type": "must be a list, as in [a, b]",
}


def read_experiment(file: Path | str, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Read an experiment from a YAML file.

    The file is a mapping of the fields of `Experiment`. Each value is read by its field's type
    and as it is written, not by YAML's own guesses: `check: off` is the word, `[01, 2]` are ids.
    Paths in it are relative to the working directory, as on the command line. `${NAME}` stays as
    it is: keys come from the environment by themselves, and nothing of it belongs into a record.

    Args:
        file: The file.
        changes: Fields that go before the file's, by name; nested ones as nested mappings.

    Raises:
        UsageError: If there is no such file, or anything is wrong in it: all of that at once.
        DataError: If it cannot be read.
    """
    file = Path(file)
    if not file.is_file():
        raise UsageError(f"there is no file {str(file)!r}: write one with `bothends init {file}`")
    written = _Written(file)
    written.read(read_text(file))
    for path in _paths(changes or {}):
        written.lines.pop(path, None)
    values = _merged(written.values, changes or {})
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        # A field of a union is told once for each of its types: the first will do.
        first = {_known(each["loc"]): each for each in reversed(error.errors())}
        written.faults += [
            (written.line(path), f"{_dotted(path)}: {_fault(path, each)}")
            for path, each in first.items()
        ]
    written.complain()
    _find_beside(file, experiment)
    return experiment


def file_fields() -> dict[str, FieldInfo]:
    """Return the fields of an experiment that a file may hold, in their order."""
    return {
        name: info
        for name, info in Experiment.model_fields.items()
        if name not in Experiment.SCORING
    }


def nested_model(info: FieldInfo) -> type[BaseModel] | None:
    """Return the pydantic model that a field's value is, perhaps beside None; None for others."""
    for kind in (info.annotation, *get_args(info.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


@dataclass(slots=True)
class _Written:
    """What stands in a file: plain values, the line of each, and what is wrong so far."""

    file: Path
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[_Path, int] = field(default_factory=dict)
    faults: list[tuple[int, str]] = field(default_factory=list)

    def read(self, text: str) -> None:
        """Parse a text by the rules of `yaml.safe_load`: no tag makes an object of it."""
        import yaml

        try:
            if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
                raise UsageError(f"{self.file} holds an alias (*name): write the value out")
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            if not isinstance(root, yaml.MappingNode):
                raise UsageError(f"{self.file} must hold fields, such as suite: tpch")
            self.values = self._value(root, ())
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}," if mark else ""
            said = getattr(error, "problem", None) or str(error).splitlines()[0]
            raise UsageError(f"{self.file}{where} is not YAML: {said}") from None
        except RecursionError:
            raise UsageError(f"{self.file} is nested too deeply") from None
        for name in Experiment.SCORING & self.values.keys():
            del self.values[name]
            told = f"{name}: belongs to `bothends score`, and is no field of an experiment's file"
            self.faults.append((self.line((name,)), told))

    def line(self, path: _Path) -> int:
        """Return where a field stands, or else what it stands in; 0 where it is not in the file."""
        return next(
            (self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines),
            0,
        )

    def complain(self) -> None:
        """Raise what is wrong, all of it, in the file's order."""
        if not self.faults:
            return
        told = [f"line {line}, {said}" if line else said for line, said in sorted(self.faults)]
        lines = f" {told[0]}" if len(told) == 1 else "".join(f"\n  {each}" for each in told)
        raise UsageError(f"{self.file} is not as it should be:{lines}") from None

    def _value(self, node: yaml.Node, path: _Path) -> Any:
        import yaml

        if node.tag not in _PLAIN:
            line = node.start_mark.line + 1
            raise UsageError(f"{self.file}, line {line}: the tag {node.tag} is not taken") from None
        if isinstance(node, yaml.SequenceNode):
            return [self._value(each, (*path, i)) for i, each in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return None if node.tag == _NULL else node.value
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise UsageError(f"{self.file}, line {line}: a field's name must be a word")
            inner = (*path, key.value)
            if key.value in found:
                said = f"{_dotted(inner)}: stands there already, in line {self.lines[inner]}"
                self.faults.append((line, said))
            self.lines.setdefault(inner, line)
            found[key.value] = self._value(value, inner)
        return found


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for name, change in changes.items():
        before = merged.get(name)
        if isinstance(change, Mapping):
            merged[name] = _merged(before if isinstance(before, Mapping) else {}, change)
        else:
            merged[name] = change
    return merged


def _paths(changes: Mapping[str, Any], outer: _Path = ()) -> Iterator[_Path]:
    for name, change in changes.items():
        if isinstance(change, Mapping):
            yield from _paths(change, (*outer, name))
        else:
            yield (*outer, name)


def _known(location: _Path) -> _Path:
    """Return a location without what pydantic adds to it, such as the types of a union."""
    fields: Mapping[str, FieldInfo] = file_fields()
    known: list[str | int] = []
    for part in location:
        known.append(part)
        inner = nested_model(fields[part]) if isinstance(part, str) and part in fields else None
        if inner is None:
            break
        fields = inner.model_fields
    place = location[len(known) : len(known) + 1]
    return (*known, *(part for part in place if isinstance(part, int)))


def _fault(path: _Path, error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return f"there is no such field{_hint(path)}"
    said = error["msg"].removeprefix("Value error, ")
    return _SAID.get(error["type"], said[:1].lower() + said[1:])


def _hint(path: _Path) -> str:
    """Offer the field that was meant: one of the same name elsewhere, or the nearest one here."""
    *outer, name = map(str, path)
    top = file_fields()
    nested = {own: model for own, info in top.items() if (model := nested_model(info))}
    here = nested[outer[0]].model_fields if outer and outer[0] in nested else top
    places = {
        field: f"{own}.{field}" for own, each in nested.items() for field in each.model_fields
    }
    elsewhere = {**places, **{field: field for field in top}}
    near = difflib.get_close_matches(name, here, n=1, cutoff=0.5)
    if name in elsewhere:
        return f"; did you mean {elsewhere[name]}?"
    if near:
        return f"; did you mean {'.'.join((*outer, near[0]))}?"
    return f"; the fields are: {', '.join(here)}"


def _dotted(path: _Path) -> str:
    return ".".join(map(str, path))


def _find_beside(file: Path, experiment: Experiment) -> None:
    """Say that paths are not relative to the file where somebody took them to be."""
    for name, path in (("suite", Path(experiment.suite)), ("prices", experiment.prices)):
        if path is None or path.exists() or path.suffix not in {".yaml", ".yml", ".jsonl"}:
            continue
        beside = file.parent / path
        if beside.exists():
            raise UsageError(
                f"{file}, {name}: there is no file {str(path)!r}; paths are relative to the "
                f"working directory, from where it is {str(beside)!r}"
            )
