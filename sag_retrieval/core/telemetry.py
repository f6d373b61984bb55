"""Spans and figures by OpenTelemetry, where its usual environment variables turn them on; else nothing is imported.

`OTEL_TRACES_EXPORTER` and `OTEL_METRICS_EXPORTER` take `otlp`, `console` and `none`, the second `prometheus` too.
Without them, `OTEL_EXPORTER_OTLP_ENDPOINT` (or its form for `TRACES` or `METRICS`) turns `otlp` on.
`OTEL_SDK_DISABLED=true` turns all off. Attributes are names and numbers of this project: no text of a document, a
question or an answer, no key.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from time import perf_counter
from typing import Any, Final

from sag_retrieval.core.public import __version__

Value = str | int | float | bool
_LABELS: Final = frozenset(
    {"step", "method", "mode", "outcome", "error.type", "gen_ai.operation.name", "gen_ai.request.model"}
)
"""Attributes of a span that its figures have too: each has few values."""
_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200)
"""Bounds of the histograms: from a search to the longest step of an ingest."""
_PORT, _HOST = "OTEL_EXPORTER_PROMETHEUS_PORT", "OTEL_EXPORTER_PROMETHEUS_HOST"
_log = logging.getLogger(__name__)


@contextmanager
def span(name: str, **attributes: Value) -> Iterator[dict[str, Value]]:
    """A span and a duration (`sag.<name>.duration`) of the block; attributes known later go into what it yields.

    An exception gives it the status ERROR and the name of its class: messages may quote documents.
    """
    opened, later = _opened(), dict(attributes)
    if opened is None:
        yield later
        return
    from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415  an extra

    started = perf_counter()
    with opened.tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as current:
        try:
            yield later
        except BaseException as error:
            later["error.type"] = type(error).__name__
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
        finally:
            current.set_attributes(later)
            labels = {label: value for label, value in later.items() if label in _LABELS}
            opened.histogram(f"sag.{name}.duration").record(perf_counter() - started, labels)


def count(name: str, amount: float, **labels: Value) -> None:
    """Add to a counter, `sag.<name>`."""
    opened = _opened()
    if opened is not None and amount:
        opened.counter(f"sag.{name}").add(amount, labels)


class _Telemetry:
    def __init__(self, tracer: Any, meter: Any) -> None:  # noqa: ANN401  an extra
        self.tracer = tracer
        self.counter = cache(meter.create_counter)
        self.histogram = cache(
            partial(meter.create_histogram, unit="s", explicit_bucket_boundaries_advisory=list(_SECONDS))
        )


@cache
def _opened() -> _Telemetry | None:
    """The instruments, opened at the first span; None where nothing is turned on, or the extra is not installed."""
    traces, figures = _exporters("TRACES"), _exporters("METRICS")
    if not traces and not figures:
        return None
    try:
        resource = _resource()
        return _Telemetry(_tracer(traces, resource), _meter(figures, resource))
    except ImportError as error:
        _log.warning('OTEL_* variables are set, but %s is not installed: pip install "sag[telemetry]"', error.name)
        return None


def _exporters(kind: str) -> list[str]:
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return []
    named = os.environ.get(f"OTEL_{kind}_EXPORTER", "")
    if not named:
        places = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{kind}_ENDPOINT")
        return ["otlp"] if any(os.environ.get(place) for place in places) else []
    found = [name.strip() for name in named.split(",") if name.strip() not in {"", "none"}]
    known = {"otlp", "console"} | ({"prometheus"} if kind == "METRICS" else set())
    for name in found:
        if name not in known:
            _log.warning("OTEL_%s_EXPORTER names %r, which is none of %s", kind, name, ", ".join(sorted(known)))
    return [name for name in found if name in known]


def _resource() -> Any:  # noqa: ANN401
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415

    is_named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({"service.version": __version__, **({} if is_named else {"service.name": "sag"})})


def _tracer(exporters: list[str], resource: Any) -> Any:  # noqa: ANN401
    """A tracer of the program's own provider, if it has set one, else of one that the environment describes."""
    from opentelemetry import trace  # noqa: PLC0415

    if not exporters:
        return trace.NoOpTracer()
    provider: Any = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter  # noqa: PLC0415

        provider = TracerProvider(resource=resource)
        for name in exporters:
            if name == "console":
                provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
            else:
                from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415

                provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("sag", __version__)


def _meter(exporters: list[str], resource: Any) -> Any:  # noqa: ANN401
    from opentelemetry.metrics import NoOpMeter  # noqa: PLC0415

    if not exporters:
        return NoOpMeter("sag")
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader  # noqa: PLC0415

    readers: list[Any] = []
    for name in exporters:
        if name == "prometheus":
            readers += filter(None, [_prometheus()])
        elif name == "console":
            readers.append(PeriodicExportingMetricReader(ConsoleMetricExporter(out=sys.stderr)))
        else:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415

            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    return MeterProvider(readers, resource=resource).get_meter("sag", __version__)


def _prometheus() -> Any:  # noqa: ANN401
    """A page of figures for Prometheus; where its port is taken, a warning and no page."""
    from opentelemetry.exporter.prometheus import PrometheusMetricReader  # noqa: PLC0415
    from prometheus_client import start_http_server  # noqa: PLC0415

    host, port = os.environ.get(_HOST) or "localhost", os.environ.get(_PORT) or "9464"
    try:
        start_http_server(int(port), host)
    except (OSError, ValueError, OverflowError) as error:
        _log.warning("no figures at %s:%s (%s); set %s to a free port", host, port, error, _PORT)
        return None
    return PrometheusMetricReader()
