"""Opens an engine by its name; the one place that knows which engines there are."""

from __future__ import annotations

import difflib
import importlib
from typing import Final, Protocol, cast

from bothends.engines.base import Engine
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError

__all__ = ["engine_names", "open_engine"]

# name -> "module:class"; the module is imported when the engine is opened.
_ENGINES: Final = {
    "sqlite": "bothends.engines.sqlite:SqliteEngine",
    "spark": "bothends.engines.spark:SparkEngine",
}


class _Openable(Protocol):
    """What the registry asks of an engine's class."""

    def open(self, address: str | None, dataset: Dataset | None, cores: int | None) -> Engine: ...


def engine_names() -> tuple[str, ...]:
    """Return the names of the registered engines."""
    return tuple(_ENGINES)


def open_engine(spec: str, dataset: Dataset | None = None, *, cores: int | None = None) -> Engine:
    """Open an engine, ready for its first query.

    Args:
        spec: A registered name (`sqlite`, `spark`), or a name with an address, such as
            `sqlite:///path/to/file.db` (three slashes for a relative path, four for an absolute
            one).
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
    if name not in _ENGINES:
        close = difflib.get_close_matches(name, _ENGINES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"no engine {spec!r}: {hint}the engines are: {', '.join(_ENGINES)}")
    if not separator and dataset is None:
        raise UsageError(f"engine {name!r} needs data: give --suite or --data")
    module, _, attribute = _ENGINES[name].partition(":")
    engine = cast(_Openable, getattr(importlib.import_module(module), attribute))
    return engine.open(address if separator else None, dataset, cores)
