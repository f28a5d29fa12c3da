"""Writing recordings: what is put into the header, and where lines may be added."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from bothends.agent.models.base import Case, Model
from bothends.agent.models.recording import (
    RecordedCall,
    RecordedChecker,
    RecordingHeader,
    read_header,
)
from bothends.infra.appending import drop_torn_line
from bothends.infra.errors import ReplayError
from bothends.infra.prices import MachinePricing, Pricing, TokenPricing
from bothends.infra.redact import Secrets
from bothends.infra.system import bothends_version, describe_hardware

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

__all__ = ["RecordingWriter", "make_header"]

_SAME = ("model", "checker", "suite", "engine", "scale_factor", "recipe")


class RecordingWriter:
    """Appends a run's LLM calls to a recording, one line each, on disk before the next.

    Several trials may write at the same time. It is a context manager, which closes the file.

    Args:
        path: The file; it is made where it is missing, and continued where it is the same run's.
        header: What is recorded.
        append: Whether another run's recording is added to as well, if it is of the same model,
            checker, suite, engine, scale factor and recipe.

    Raises:
        ReplayError: If the file is no recording, or one that is not to be added to.
    """

    def __init__(self, path: Path, header: RecordingHeader, *, append: bool = False) -> None:
        self._lock = threading.Lock()
        self._secrets = Secrets.of_environment()
        begun = path.exists() and path.stat().st_size > 0
        if begun:
            found = read_header(path)
            other = [key for key in _SAME if getattr(found, key) != getattr(header, key)]
            if other:
                raise ReplayError(
                    f"{path} is a recording of another run ({', '.join(other)} differ); "
                    "record into another file"
                )
            if not append and (header.run is None or found.run != header.run):
                raise ReplayError(
                    f"{path} holds a recording already, made on {found.date}: record into another "
                    "file, or add to it with --record-append"
                )
            drop_torn_line(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")
        if not begun:
            self.append(header)

    def handler(self, case: Case) -> BaseCallbackHandler:
        """Return a LangChain callback handler that records the LLM calls of one trial."""
        from bothends.agent.models.recorder import TrialRecorder

        return TrialRecorder(self, case)

    def append(self, line: RecordingHeader | RecordedCall) -> None:
        """Write one line to the file, without secrets of the environment."""
        safe = self._secrets.cleaned(line)
        with self._lock:
            self._file.write(safe.model_dump_json() + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file; idempotent."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


def make_header(
    model: Model,
    *,
    suite: str,
    engine: str,
    scale_factor: float | None,
    recipe: str,
    checker: Model | None = None,
    run: str | None = None,
    server: str = "",
    note: str = "",
) -> RecordingHeader:
    """Return the header for recording a model here and now.

    Args:
        model: The model that is recorded.
        suite: The suite's name.
        engine: The engine's name.
        scale_factor: The data's scale factor, where it has one.
        recipe: The recipe's name.
        checker: The checker, where it is another model.
        run: Which run it is.
        server: What serves the model, in words; the model's description where empty.
        note: Anything else that a reader should know.
    """
    return RecordingHeader(
        model=_without_address(model.spec),
        label=model.label,
        server=server or model.description.rstrip("."),
        hardware=describe_hardware(),
        date=datetime.now(UTC).date().isoformat(),
        bothends_version=bothends_version(),
        suite=suite,
        engine=engine,
        scale_factor=scale_factor,
        recipe=recipe,
        text_calls=model.text_calls,
        checker=None
        if checker is None
        else RecordedChecker(
            model=_without_address(checker.spec), label=checker.label, **_priced(checker.pricing)
        ),
        run=run,
        note=note,
        **_priced(model.pricing),
    )


def _priced(pricing: Pricing) -> dict[str, Any]:
    if isinstance(pricing, TokenPricing):
        return {"price_as": f"{pricing.provider}:{pricing.model}"}
    if isinstance(pricing, MachinePricing):
        return {"machine": pricing.machine, "usd_per_hour": pricing.usd_per_hour}
    return {}


def _without_address(spec: str) -> str:
    """Drop the option that says where a model is served: recordings are published."""
    name, _, query = spec.partition("?")
    kept = [option for option in query.split("&") if option and not option.startswith("base_url=")]
    return "?".join([name, *(["&".join(kept)] if kept else [])])
