"""OpenTelemetry: each trial as a span, with its LLM and tool calls, by the GenAI conventions.

The names of spans and attributes are those of OpenTelemetry's semantic conventions for generative
AI: agent spans, client spans and tool spans.
"""

from __future__ import annotations

# ruff: noqa: ARG002 - the callbacks' signatures are LangChain's
import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from bothends.agent.meter import usage_of
from bothends.agent.models.base import Case
from bothends.infra.redact import redact
from bothends.tools import ToolReport

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanKind, Tracer

__all__ = ["tracing"]

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# The convention's names, where LangChain's differ.
_PROVIDERS = {"google_genai": "gcp.gemini", "mistralai": "mistral_ai", "bedrock": "aws.bedrock"}
_ERROR_CHARACTERS = 500

_log = logging.getLogger("bothends")


@contextlib.contextmanager
def tracing() -> Iterator[Callable[[Case], Sequence[BaseCallbackHandler]]]:
    """Give each trial the callback handler that traces it, where the environment asks for traces.

    They are sent to $OTEL_EXPORTER_OTLP_ENDPOINT in the background, and what is left of them at
    the end, for a few seconds at most. A collector that cannot be reached costs a line on stderr.
    """
    endpoint = next((name for name in _ENDPOINTS if os.environ.get(name)), None)
    if endpoint is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield lambda _: ()
        return
    with contextlib.ExitStack() as stack:
        tracer = None
        try:
            from bothends.agent.telemetry_export import exporting

            tracer = stack.enter_context(exporting(_log.warning))
        except ImportError:
            _log.warning(
                "bothends: %s is set, but no traces are sent: OpenTelemetry is not installed. "
                "Install it with: pip install 'bothends[otel]'",
                endpoint,
            )
        except Exception as error:  # a variable of OpenTelemetry's that it cannot read
            _log.warning("bothends: no traces are sent: %s", redact(str(error)))
        yield lambda case: () if tracer is None else (TrialTracer(tracer, case),)


class TrialTracer(BaseCallbackHandler):
    """Traces one trial.

    Args:
        tracer: Makes the spans.
        case: The trial.
    """

    run_inline = True

    def __init__(self, tracer: Tracer, case: Case) -> None:
        self._tracer = tracer
        self._case = case
        self._root: UUID | None = None
        self._spans: dict[UUID, Span] = {}
        self._parents: dict[UUID, UUID | None] = {}
        self._content = os.environ.get(_CONTENT, "").lower() in {
            "true",
            "span_only",
            "span_and_event",
        }

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Start the trial's span; the graph's own steps have none."""
        from opentelemetry.trace import SpanKind

        self._parents[run_id] = parent_run_id
        if self._root is not None:
            return
        self._root = run_id
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "bothends",
            "gen_ai.provider.name": "bothends",
            "bothends.question.id": self._case.question_id,
            "bothends.replica": self._case.replica,
        }
        self._start(run_id, "invoke_agent bothends", SpanKind.INTERNAL, attributes)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End the trial's span."""
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End the trial's span with what ended it."""
        self._fail(run_id, type(error).__name__, str(error))

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start an LLM call's span; each attempt has one."""
        from opentelemetry.trace import SpanKind

        self._parents[run_id] = parent_run_id
        known = metadata or {}
        model = str(known.get("ls_model_name") or (serialized or {}).get("name") or "")
        provider = str(known.get("ls_provider") or "bothends")
        provider = _PROVIDERS.get(provider, provider)
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.system": provider,  # the name that collectors of earlier conventions read
            "gen_ai.request.model": model,
            "gen_ai.request.temperature": known.get("ls_temperature"),
            "gen_ai.request.max_tokens": known.get("ls_max_tokens"),
        }
        self._start(run_id, f"chat {model}", SpanKind.CLIENT, attributes)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """End an LLM call's span with its tokens."""
        generations = [each for batch in response.generations for each in batch]
        message = getattr(generations[0], "message", None) if generations else None
        if not isinstance(message, AIMessage):
            self._fail(run_id, "malformed_reply", "the reply holds no assistant's message")
            return
        said, usage = message.response_metadata, usage_of(message)
        found: dict[str, Any] = {"gen_ai.response.model": said.get("model_name")}
        if said.get("finish_reason"):
            found["gen_ai.response.finish_reasons"] = [str(said["finish_reason"])]
        if usage is not None:
            found |= {
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
            }
        if said.get("bothends", {}).get("replayed"):
            found["bothends.replayed"] = True
        self._end(run_id, found)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End the span of an LLM call that failed."""
        status = getattr(error, "status_code", None)
        self._fail(run_id, str(status or type(error).__name__), str(error))

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Start a tool call's span; what it is called with is content, which is sent if asked."""
        from opentelemetry.trace import SpanKind

        self._parents[run_id] = parent_run_id
        name = str((serialized or {}).get("name", ""))
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": tool_call_id,
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(inputs or {}, default=str)
            attributes["db.query.text"] = (inputs or {}).get("sql")
        self._start(run_id, f"execute_tool {name}", SpanKind.INTERNAL, attributes)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End a tool call's span; a query that the engine refused is its error."""
        report = output.artifact if isinstance(output, ToolMessage) else None
        if not isinstance(report, ToolReport) or report.error is None:
            self._end(run_id)
            return
        status = report.outcome.status if report.outcome else "failed"
        # The engine's words quote the query.
        self._fail(run_id, status, report.error if self._content else "")

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End the span of a tool call that failed."""
        self._fail(run_id, type(error).__name__, str(error) if self._content else "")

    def _start(
        self, run_id: UUID, name: str, kind: SpanKind, attributes: Mapping[str, Any]
    ) -> None:
        from opentelemetry.trace import set_span_in_context

        parent = self._parent(run_id)
        self._spans[run_id] = self._tracer.start_span(
            name,
            context=None if parent is None else set_span_in_context(parent),
            kind=kind,
            attributes=_known(attributes),
        )

    def _parent(self, run_id: UUID) -> Span | None:
        """Return the nearest span above: between them lie the graph's own steps."""
        above = self._parents.get(run_id)
        while above is not None and above not in self._spans:
            above = self._parents.get(above)
        if above is None:
            above = self._root
        return self._spans.get(above) if above else None

    def _end(self, run_id: UUID, attributes: Mapping[str, Any] | None = None) -> None:
        span = self._spans.pop(run_id, None)
        if span is not None:
            span.set_attributes(_known(attributes or {}))
            span.end()

    def _fail(self, run_id: UUID, kind: str, said: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._spans.get(run_id)
        if span is not None:
            span.set_status(Status(StatusCode.ERROR, redact(said)[:_ERROR_CHARACTERS]))
            self._end(run_id, {"error.type": kind})


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
