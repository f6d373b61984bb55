"""Options that several commands share: release, restriction, method, and `--set`."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import wraps
from pkgutil import resolve_name
from typing import Any, Final

import click

from sag_retrieval.core.errors import QueryError, SettingsError, shown
from sag_retrieval.core.options import build_options, parse_settings


class WrongCall(click.ClickException):
    """A wrong value of an option, with a message that names the next command."""

    exit_code = 2


@contextmanager
def checked_call() -> Iterator[None]:
    """Turn an error about the values of options into one about the call, with its exit code."""
    try:
        yield
    except SettingsError as error:
        raise WrongCall(str(error)) from error


class LazyChoice(click.Choice[str]):
    """A choice whose names are loaded when they are needed, which keeps `sag --help` fast."""

    def __init__(self, load: Callable[[], Iterable[str]]) -> None:
        self._load = load
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # loaded when it is read
        """The names."""
        return tuple(self._load())


def confirm_first(question: str, unasked: SettingsError) -> None:
    """Ask on the terminal; no and Ctrl-C end the command, and `unasked` tells that standard input is closed."""
    try:
        click.confirm(question, abort=True)
    except click.Abort as stopped:
        if isinstance(stopped.__context__, EOFError):
            raise unasked from None
        raise


def _methods() -> Mapping[str, Any]:
    from sag_retrieval.search.registry import METHODS  # noqa: PLC0415  keeps `sag --help` fast

    return METHODS


def _modes() -> Mapping[Any, Any]:
    from sag_retrieval.ask.options import MODES  # noqa: PLC0415

    return MODES


METHOD_NAMES: Final = LazyChoice(_methods)
MODE_NAMES: Final = LazyChoice(_modes)

of_release = click.option("--release", "release_id", metavar="ID", help="Open this release instead of the current one.")
with_sql = click.option(
    "--sql",
    metavar="SQL",
    help="Restrict the search by a SELECT of event_id, chunk_id or document_id, or by a condition over events.",
)
with_where = click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Restrict the search by a condition, such as language=en or date__gte=2020; may be repeated.",
)
with_as_of = click.option("--as-of", metavar="DATE", help="Only what had been said by then: 2025, 2025-06, 2025-06-30.")
_BUDGETS: Final = {
    "max_calls": "Most model calls for a question.",
    "max_tokens": "Most tokens sent and received for a question.",
    "rounds": "Most plans of the deep mode.",
}


def with_budgets(command: Callable[..., None]) -> Callable[..., None]:
    """The budgets of asking as options of their own; the command gets those given as `budgets`, pairs of `--set`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401  arguments of any command
        values = {name: given.pop(name) for name in _BUDGETS}
        command(budgets=tuple(f"{name}={value}" for name, value in values.items() if value is not None), **given)

    for name, text in reversed(_BUDGETS.items()):
        packed = click.option(f"--{name.replace('_', '-')}", name, type=int, metavar="N", help=text)(packed)
    return packed


def with_set(what: str) -> Callable[[Any], Any]:
    """The option `--set`; `what` is the name that `sag settings --options` takes."""
    text = f"An option, see `sag settings --options {what}`; may be repeated."
    return click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuery:
    """What `search`, `ask` and `evaluate` are given beside the question, as it was written."""

    method: str
    pairs: tuple[str, ...]
    keys: tuple[str, ...]
    sql: str | None
    conditions: tuple[str, ...]
    segments: str | None
    release_id: str | None
    as_of: str | None = None
    budgets: tuple[str, ...] = ()

    def search_settings(self) -> tuple[Any, Any]:
        """The options of the method and of segments; None where no value is given."""
        with checked_call():
            own, segments = _divided(parse_settings(self.pairs, self.method), "segments")
            return method_options(self.method, own), _segment_options(self.segments, segments)

    def ask_arguments(self) -> dict[str, Any]:
        """Arguments of `Release.ask`: options, those of its searches (`search.…`) and of segments (`segments.…`)."""
        with checked_call():
            given, search = _divided(parse_settings([*self.pairs, *self.budgets], "ask"), "search")
            own, segments = _divided(given, "segments")
            build_options(type(default_options("ask")), own, what="ask")
            return {
                "method": self.method,
                "options": own,
                "search_options": method_options(self.method, search),
                "segments": _segment_options(self.segments, segments),
            }

    def restriction(self) -> dict[str, Any]:
        """The arguments that restrict a search."""
        from sag_retrieval.search.revised import said_by  # noqa: PLC0415  loads what opens a release

        return {"sql": self.sql, "where": said_by(where_of(self.conditions), self.as_of)}


def with_query(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options of `AskedQuery`, which the command gets as `given`; `what` is the name of the options of `--set`."""
    shared = (
        click.option("--method", type=METHOD_NAMES, default="sag", show_default=True),
        with_set(what),
        click.option(
            "--key", "keys", multiple=True, metavar="TEXT", help="A name that the answer is about; may be repeated."
        ),
        with_sql,
        with_where,
        with_as_of,
        click.option("--segments", metavar="PRESET", help="Join neighbouring hits: balanced, precision or find_all."),
        of_release,
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def packed(**values: Any) -> None:  # noqa: ANN401  arguments of any command
            own = {each.name: values.pop(each.name) for each in fields(AskedQuery) if each.name in values}
            command(given=AskedQuery(**own), **values)

        for option in reversed(shared):
            packed = option(packed)
        return packed

    return decorate


MORE_SETTINGS: Final[list[Callable[[], list[dict[str, str]]]]] = []
"""Rows that the pipeline adds to the table of settings: name, value, origin and meaning of each."""
NAME_DECIDER: Final[list[str]] = []
"""The module by which the pipeline lets `sag serve` decide on names."""
OPERATIONS: Final = {
    "ask": "sag_retrieval.ask.options:AskOptions",
    "report": "sag_retrieval.reports.options:ReportOptions",
    "cluster": "sag_retrieval.clusters.options:ClusterOptions",
    "segments": "sag_retrieval.search.segments:SegmentOptions",
    "pipeline": "sag_retrieval.pipelines:PipelineStages.bound",
    "chat": "sag_retrieval.models.rate_limits:ChatOptions",
}
"""What makes the default options of operations other than search methods, by name; loaded when it is needed, which
keeps `sag --help` fast. The pipeline adds that of `ingest`."""


def option_names() -> list[str]:
    """Every name that `sag settings --options` knows."""
    return [*_methods(), *OPERATIONS]


def default_options(name: str) -> Any:  # noqa: ANN401  each has its own class
    """The options of a method or operation without `--set`; None for a method without options."""
    if name not in option_names():
        near = get_close_matches(name, option_names(), 1)
        meant = f"the nearest is {near[0]!r}; " if near else ""
        raise SettingsError(f"{shown(name)} has no options; {meant}known are {', '.join(option_names())}")
    return resolve_name(OPERATIONS[name])() if name in OPERATIONS else _methods()[name].defaults


def weakness(name: str) -> str:
    """When not to use a method; empty for an operation, or if nothing is said."""
    methods = _methods()
    return methods[name].weak if name in methods else ""


def method_options(method: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  each method has its own class
    """The options of a method with some values changed; None if no value is given."""
    return _methods()[method].build_options(given) if given else None


def where_of(conditions: Sequence[str]) -> dict[str, Any] | None:
    """Conditions by field; a value is parsed as JSON where it is valid JSON and the field does not hold text."""
    found: dict[str, Any] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals or not name.strip():
            raise QueryError(f"--where {shown(condition)} is not FIELD=VALUE, such as language=en")
        if name.strip() in found:
            raise QueryError(f"--where {name.strip()} is given twice; `{name.strip()}__in=[…]` takes several values")
        found[name.strip()] = _value(name.strip(), value)
    return found or None


def _value(name: str, text: str) -> Any:  # noqa: ANN401  any JSON
    from sag_retrieval.release.where import COLUMNS  # noqa: PLC0415  loads what opens a release

    field, _, operator = name.partition("__")
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    is_text = field in COLUMNS and COLUMNS[field][1] == "text" and operator != "isnull"
    return text if is_text and not isinstance(value, list | str) else value


def _divided(given: Mapping[str, str], group: str) -> tuple[dict[str, str], dict[str, str]]:
    """The values outside a group, and those inside it without the name of the group."""
    start = f"{group}."
    inside = {name.removeprefix(start): value for name, value in given.items() if name.startswith(start)}
    return {name: value for name, value in given.items() if not name.startswith(start)}, inside


def _segment_options(preset: str | None, given: Mapping[str, str]) -> Any:  # noqa: ANN401  options of segments
    if preset is None and not given:
        return None
    from sag_retrieval.search.segments import SegmentOptions, segment_options  # noqa: PLC0415

    start = segment_options(preset or "balanced")
    return build_options(SegmentOptions, given, what="segments", base=start)
