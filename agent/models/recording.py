"""Recordings of a model: a header line, then one line for each LLM call.

A trial's calls are numbered from 0. Where a trial was interrupted and run again, its calls are
numbered from 0 again, and the last numbering is the one that counts.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.agent.models.base import Case, Model
from bothends.infra.errors import ReplayError
from bothends.infra.prices import MachinePricing, TokenPricing
from bothends.infra.redact import Secrets
from bothends.infra.system import bothends_version, describe_hardware

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

__all__ = [
    "RecordedCall",
    "Recording",
    "RecordingHeader",
    "RecordingWriter",
    "Role",
    "find_recording",
    "make_header",
    "question_digest",
    "read_recording",
]

Role = Literal["controller", "checker"]
_BUNDLED = Path(__file__).parents[1] / "recordings"
_SAME = ("model", "suite", "engine", "scale_factor", "recipe")


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordingHeader(_Line):
    """What was recorded, and on what: the first line."""

    bothends_recording: Literal[1] = Field(1, description="The version of the file's shape.")
    model: str = Field(description="The model as it was named, without its server's address.")
    label: str = Field(description="Its name in tables.")
    server: str = Field(description="What served it, in words; without a host's name.")
    hardware: str = Field(description="The machine that served it, or that called it if hosted.")
    date: str = Field(description="The day, ISO 8601, UTC.")
    bothends_version: str = Field(description="The version that recorded it.")
    suite: str = Field(description="The suite's name.")
    engine: str = Field(description="The engine's name.")
    scale_factor: float | None = Field(description="The data's scale factor, where it has one.")
    recipe: str = Field(description="The recipe's name.")
    text_calls: bool = Field(description="Whether calls written in its text are recognised.")
    price_as: str | None = Field(None, description="The provider:model that priced it.")
    machine: str | None = Field(None, description="The machine whose hours priced it.")
    usd_per_hour: float | None = Field(None, description="That machine's price.")
    note: str = Field("", description="Anything else that a reader should know.")


class RecordedCall(_Line):
    """One LLM call, each attempt by itself: each further line."""

    question_id: str = Field(description="The question's id.")
    question_sha256: str = Field(description="SHA-256 of the question's text.")
    replica: int = Field(description="Which repetition, from 0.")
    index: int = Field(description="Which LLM call of the trial, from 0.")
    role: Role = Field(description="Which LLM was called.")
    prompt_sha256: str = Field(description="SHA-256 of the conversation that was sent.")
    text: str = Field("", description="The reply's text.")
    tool_calls: tuple[dict[str, Any], ...] = Field((), description="Its calls: name, args, id.")
    invalid_tool_calls: tuple[dict[str, Any], ...] = Field(
        (), description="Calls whose arguments were not JSON: name, args, id, error."
    )
    usage: dict[str, Any] | None = Field(
        None, description="Tokens as LangChain's usage_metadata; null where none were reported."
    )
    seconds: float = Field(description="Seconds from the request to the reply.")
    response_model: str | None = Field(None, description="The model that the reply names.")
    finish_reason: str | None = Field(None, description="Why the reply ended.")
    error: str | None = Field(
        None, description="Why there was no reply; such an attempt has no tokens."
    )


class RecordingWriter:
    """Appends a run's LLM calls to a recording, one line each, on disk before the next.

    Several trials may write at the same time. It is a context manager, which closes the file.

    Args:
        path: The file; it is made where it is missing, and continued where it is of the same
            model, suite, engine, scale factor and recipe.
        header: What is recorded.

    Raises:
        ReplayError: If the file is no recording, or one of something else.
    """

    def __init__(self, path: Path, header: RecordingHeader) -> None:
        self._lock = threading.Lock()
        begun = path.exists() and path.stat().st_size > 0
        if begun:
            found = _read_header(path)
            other = [key for key in _SAME if getattr(found, key) != getattr(header, key)]
            if other:
                raise ReplayError(
                    f"{path} is a recording of another run ({', '.join(other)} differ); "
                    "record into another file"
                )
            _cut_unfinished_line(path)
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
        safe = Secrets.of_environment().cleaned(line)
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


class Recording:
    """A recording that was read.

    Attributes:
        path: Its file.
        header: Its header.
    """

    def __init__(self, path: Path, header: RecordingHeader, calls: Sequence[RecordedCall]) -> None:
        self.path = path
        self.header = header
        self._trials: dict[str, dict[int, list[RecordedCall]]] = {}
        for call in calls:
            replicas = self._trials.setdefault(call.question_id, {})
            if call.index == 0:
                replicas[call.replica] = [call]
            elif call.index == len(replicas.get(call.replica, ())):
                replicas[call.replica].append(call)
            else:
                raise ReplayError(
                    f"{path} is damaged: call {call.index} of question {call.question_id!r}, "
                    f"replica {call.replica}, does not follow the one before it; record it again"
                )

    @property
    def questions(self) -> tuple[str, ...]:
        """The ids of the questions that it holds, in the order of recording."""
        return tuple(self._trials)

    @property
    def replicas(self) -> int:
        """How many repetitions of a question it holds, at least."""
        return min(map(len, self._trials.values()), default=0)

    def calls(self, case: Case) -> tuple[RecordedCall, ...]:
        """Return the calls of a trial.

        Raises:
            ReplayError: If the question or the replica is not in it, or is there with another text.
        """
        replicas = self._trials.get(case.question_id)
        if replicas is None:
            raise ReplayError(
                f"{self.path.name} holds no question {case.question_id!r}; "
                f"it holds: {', '.join(self.questions) or 'none'}"
            )
        # Playing one reply twice would pass for a model that answers twice alike.
        if case.replica >= len(replicas):
            raise ReplayError(
                f"{self.path.name} holds {len(replicas)} replicas of question "
                f"{case.question_id!r}, and replica {case.replica + 1} is asked for: ask for "
                "fewer with --replicas, or record more"
            )
        calls = replicas[sorted(replicas)[case.replica]]
        if calls[0].question_sha256 != question_digest(case.question):
            raise ReplayError(
                f"question {case.question_id!r} was recorded in {self.path.name} with another "
                "text than it has now; record it again"
            )
        return tuple(calls)


def make_header(
    model: Model,
    *,
    suite: str,
    engine: str,
    scale_factor: float | None,
    recipe: str,
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
        server: What serves the model, in words; the model's description where empty.
        note: Anything else that a reader should know.
    """
    priced = model.pricing
    by_machine = priced if isinstance(priced, MachinePricing) else None
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
        price_as=f"{priced.provider}:{priced.model}" if isinstance(priced, TokenPricing) else None,
        machine=by_machine.machine if by_machine else None,
        usd_per_hour=by_machine.usd_per_hour if by_machine else None,
        note=note,
    )


def find_recording(name: str) -> Path:
    """Return the file of a recording: a path, or the name of one that bothends brings along.

    Raises:
        ReplayError: If there is neither; the message names those that are brought along.
    """
    path = Path(name).expanduser()
    if path.exists():
        return path
    bundled = {file.stem: file for file in sorted(_BUNDLED.glob("*.jsonl"))}
    if name in bundled:
        return bundled[name]
    raise ReplayError(
        f"there is no recording {name}; check the path, or name one that bothends brings along: "
        f"{', '.join(bundled)}"
    )


def read_recording(path: Path) -> Recording:
    """Read a recording; a last line that a killed process left unfinished is passed over.

    Raises:
        ReplayError: If the file is missing, no recording, or damaged.
    """
    header = _read_header(path)
    lines = path.read_bytes().split(b"\n")[1:-1]
    calls = []
    for number, line in enumerate(lines, start=2):
        try:
            calls.append(RecordedCall.model_validate_json(line))
        except ValidationError:
            raise ReplayError(
                f"{path} is damaged: line {number} is no recorded call; record it again"
            ) from None
    return Recording(path, header, calls)


def question_digest(text: str) -> str:
    """Return the SHA-256 of a question's text, by which a recording knows it again."""
    return hashlib.sha256(text.encode()).hexdigest()


def _without_address(spec: str) -> str:
    """Drop the option that says where a model is served: recordings are published."""
    name, _, query = spec.partition("?")
    kept = [option for option in query.split("&") if option and not option.startswith("base_url=")]
    return "?".join([name, *(["&".join(kept)] if kept else [])])


def _read_header(path: Path) -> RecordingHeader:
    try:
        with path.open("rb") as file:
            return RecordingHeader.model_validate_json(file.readline())
    except FileNotFoundError:
        raise ReplayError(f"there is no recording {path}; check the path") from None
    except OSError as error:
        raise ReplayError(f"the recording {path} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise ReplayError(
            f"{path} is no recording: its first line is not the header that bothends writes"
        ) from None


def _cut_unfinished_line(path: Path) -> None:
    """Drop what follows the last line break: the line that a killed process was writing."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
