"""Sending spans to an OpenTelemetry collector, in the background and never in the way."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

from bothends.infra.system import bothends_version

__all__ = ["exporting"]

_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
_TIMEOUT_S = 3.0
_FLUSH_S = 5.0
# These log each failed attempt and each span, across a progress bar; what came of all is said once.
_CHATTY = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
)


class _Counting(SpanExporter):
    """An exporter that counts the spans that did not arrive."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans."""
        self.lost += len(spans)
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.lost -= len(spans)
        return result

    def shutdown(self) -> None:
        """Stop sending."""
        self._inner.shutdown()


def _nothing(_: logging.LogRecord) -> bool:
    return False


@contextlib.contextmanager
def exporting(warn: Callable[[str], None]) -> Iterator[Tracer]:
    """Give a tracer whose spans are sent as OpenTelemetry's own variables say.

    It is nobody else's: a program that has set OpenTelemetry up for itself keeps its own.

    Args:
        warn: Told in a line where spans did not arrive.
    """
    timeout_s = None if any(map(os.environ.get, _TIMEOUTS)) else _TIMEOUT_S
    exporter = _Counting(OTLPSpanExporter(timeout=timeout_s))
    service = {"service.version": bothends_version()}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        service["service.name"] = "bothends"
    provider = TracerProvider(resource=Resource.create(service), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    loggers = [logging.getLogger(name) for name in _CHATTY]
    for each in loggers:
        each.addFilter(_nothing)
    try:
        yield provider.get_tracer("bothends", bothends_version())
    finally:
        # A daemon: a collector that hangs is not waited for any longer.
        last = Thread(target=provider.shutdown, name="telemetry", daemon=True)
        last.start()
        last.join(_FLUSH_S)
        for each in loggers:
            each.removeFilter(_nothing)
        if last.is_alive() or exporter.lost:
            warn("bothends: traces did not reach the OpenTelemetry collector; the run has them all")
