"""Opens an engine by its name; the one place that knows which engines there are."""

from __future__ import annotations

import difflib
import importlib
import re
from operator import attrgetter
from typing import Final, Protocol, cast

from bothends.engines.base import Engine
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError

__all__ = ["engine_name", "engine_names", "open_engine", "without_password"]

# name -> "module:function"; the module is imported when the engine is opened.
_ENGINES: Final = {
    "sqlite": "bothends.engines.sqlite:SqliteEngine.open",
    "postgres": "bothends.engines.postgres:PostgresEngine.open",
    "spark": "bothends.engines.spark:SparkEngine.open",
}
# scheme of an address that is no engine's name -> the engine's name, and what opens it.
_SCHEMES: Final = {
    "postgresql": ("postgres", _ENGINES["postgres"]),
    "sc": ("spark", "bothends.engines.spark:SparkEngine.connect"),
}
# The parameters of a Spark Connect server's address that are no secret.
_PUBLIC: Final = ("schema", "use_ssl")


class _Open(Protocol):
    """What opens an engine."""

    def __call__(
        self, address: str | None, dataset: Dataset | None, cores: int | None
    ) -> Engine: ...


def engine_names() -> tuple[str, ...]:
    """Return the names of the registered engines."""
    return tuple(_ENGINES)


def engine_name(spec: str) -> str:
    """Return the name that the engine of a spec will have, without opening it.

    Raises:
        UsageError: If no engine has that name.
    """
    return _opener(spec)[0]


def open_engine(spec: str, dataset: Dataset | None = None, *, cores: int | None = None) -> Engine:
    """Open an engine, ready for its first query.

    Args:
        spec: A registered name (`sqlite`, `postgres`, `spark`), or a name with an address, such as
            `sqlite:///path/to/file.db` (three slashes for a relative path, four for an absolute
            one), `postgres://user@host/database`, `spark://host:port` (a standalone cluster's
            master) or `sc://host:port/;schema=name` (a Spark Connect server).
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
    name, target = _opener(spec)
    _, separator, address = spec.partition("://")
    if not separator and dataset is None:
        raise UsageError(f"engine {name!r} needs data: give --suite or --data")
    if dataset is not None and dataset.sqlite and not dataset.tables and name != "sqlite":
        raise UsageError(
            f"{dataset.name} is a SQLite file, which engine {name!r} cannot open: use --engine "
            "sqlite, or bring it over to Parquet tables first"
        )
    module, _, function = target.partition(":")
    opens = cast(_Open, attrgetter(function)(importlib.import_module(module)))
    return opens(address if separator else None, dataset, cores)


def _opener(spec: str) -> tuple[str, str]:
    """Return an engine's name and what opens it."""
    name, separator, _ = spec.partition("://")
    if separator and name in _SCHEMES:
        return _SCHEMES[name]
    if name in _ENGINES:
        return name, _ENGINES[name]
    close = difflib.get_close_matches(name, _ENGINES, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise UsageError(
        f"no engine {without_password(spec)!r}: {hint}the engines are: {', '.join(_ENGINES)}"
    )


def without_password(spec: str) -> str:
    """Return an engine's spec as it may be shown and recorded: what is secret in it left out.

    Args:
        spec: A name, or a name with an address, perhaps `name://user:password@host/database`.
    """
    # Up to the last @: somebody's password may hold one, or a slash, as it is.
    spec = re.sub(r"(?<=://)([^/?#@:]*):(?!\d+(?:[/?#,]|$)).*(?=@)", r"\1", spec)
    if spec.startswith("sc:"):
        where, *parameters = spec.split(";")
        public = [each for each in parameters if each.partition("=")[0] in _PUBLIC]
        return ";".join([where, *public])
    return re.sub(r"(?<=[?&])(?:ssl)?password=[^&]*&?", "", spec).rstrip("?&")
