"""Opens an engine by its name; the one place that knows which engines there are."""

from __future__ import annotations

import difflib
import importlib
import re
from typing import Final, Protocol, cast

from bothends.engines.base import Engine
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError

__all__ = ["engine_names", "open_engine", "without_password"]

# name -> "module:class"; the module is imported when the engine is opened.
_ENGINES: Final = {
    "sqlite": "bothends.engines.sqlite:SqliteEngine",
    "postgres": "bothends.engines.postgres:PostgresEngine",
    "spark": "bothends.engines.spark:SparkEngine",
}
# The other scheme that PostgreSQL's own URLs may have.
_ALIASES: Final = {"postgresql": "postgres"}


class _Openable(Protocol):
    """What the registry asks of an engine's class."""

    def open(self, address: str | None, dataset: Dataset | None, cores: int | None) -> Engine: ...


def engine_names() -> tuple[str, ...]:
    """Return the names of the registered engines."""
    return tuple(_ENGINES)


def open_engine(spec: str, dataset: Dataset | None = None, *, cores: int | None = None) -> Engine:
    """Open an engine, ready for its first query.

    Args:
        spec: A registered name (`sqlite`, `postgres`, `spark`), or a name with an address, such as
            `sqlite:///path/to/file.db` (three slashes for a relative path, four for an absolute
            one) or `postgres://user@host/database`.
        dataset: The data; required unless the address says where it lies.
        cores: Cores that an engine on this machine may use; None for its own choice.

    Returns:
        The engine; close it after use.

    Raises:
        UsageError: If no engine has that name, or name, address and dataset do not fit together.
        EngineError: If the engine cannot be started.
        DataError: If the data cannot be read.
        MissingExtraError: If an optional dependency of the engine is not installed.
    """
    name, separator, address = spec.partition("://")
    name = _ALIASES.get(name, name)
    if name not in _ENGINES:
        close = difflib.get_close_matches(name, _ENGINES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(
            f"no engine {without_password(spec)!r}: {hint}the engines are: {', '.join(_ENGINES)}"
        )
    if not separator and dataset is None:
        raise UsageError(f"engine {name!r} needs data: give --suite or --data")
    if dataset is not None and dataset.sqlite and not dataset.tables and name != "sqlite":
        raise UsageError(
            f"{dataset.name} is a SQLite file, which engine {name!r} cannot open: use --engine "
            "sqlite, or bring it over to Parquet tables first"
        )
    module, _, attribute = _ENGINES[name].partition(":")
    engine = cast(_Openable, getattr(importlib.import_module(module), attribute))
    return engine.open(address if separator else None, dataset, cores)


def without_password(spec: str) -> str:
    """Return an engine's spec as it may be shown and recorded: what is secret in it left out.

    Args:
        spec: A name, or a name with an address, perhaps `name://user:password@host/database`.
    """
    spec = re.sub(r"(?<=://)([^/?#@:]*):[^/?#]*(?=@)", r"\1", spec)
    return re.sub(r"(?<=[?&])(?:ssl)?password=[^&]*&?", "", spec).rstrip("?&")
