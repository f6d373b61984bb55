"""Print to a terminal: results as tables and lines, JSON, and messages of one line."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import TextIOWrapper
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click
from rich.bar import Bar
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sag_retrieval.language.words import ascii_where_hidden, printable
from sag_retrieval.notebook import key_text, shown_keys, snippet

if TYPE_CHECKING:
    from sag_retrieval.evaluation.runner import Evaluation, Interval, ScoredOutcomes, Unit

_SHOWN_KEYS = 8
_SHOWN_ROWS = 3
_SHOWN_TITLE = 40
_NARROWEST = 20
"""Columns that a paragraph has at least."""
_BAR_CELLS = 20

as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON instead of a table.")


class Terminal(Console):
    """A console that writes no escape sequences but its own colours: text of documents or models cannot control it."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, emoji=False)  # `:warning:` in a document stays as written

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, without control characters and links in text and style."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            style = segment.style.update_link(None) if segment.style and segment.style.link else segment.style
            yield Segment(printable(segment.text), style)


def print_json(value: Any) -> None:  # noqa: ANN401  any JSON
    """Print one JSON document on standard output; control characters are written as JSON escapes."""
    click.echo(ascii_where_hidden(json.dumps(value, ensure_ascii=False, indent=1, default=str)))


def say(text: str) -> None:
    """Print plain text on standard output."""
    click.echo(printable(text))


def complain(text: str, *, kind: str = "Error") -> None:
    """Print one line on standard error."""
    click.echo(f"{kind}: {' '.join(printable(text).split())}", err=True)


def print_anything() -> None:
    """Make both streams accept any text: characters that their encoding lacks are escaped instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_settings(console: Console, found: Sequence[Mapping[str, str]], options: Sequence[str]) -> None:
    """One row per setting, then the names that have options."""
    table = Table("setting", "value", "from", "meaning", box=None)
    for row in found:
        table.add_row(*(escape(row[name]) for name in ("name", "value", "origin", "meaning")))
    console.print(table)
    console.print(f"[dim]options: sag settings --options {escape(' | '.join(options))}[/dim]", highlight=False)


def show_options(console: Console, name: str, rows: Sequence[Mapping[str, Any]], weak: str = "") -> None:
    """When not to use a method, then one row per option."""
    if weak:
        console.print(f"not for {escape(weak)}", highlight=False, soft_wrap=True)
    if not rows:
        console.print(f"{escape(name)} has no options")
        return
    table = Table("option", "default", "values", "meaning", box=None)
    for row in rows:
        table.add_row(*(escape(str(row[column])) for column in ("name", "default", "values", "meaning")))
    console.print(table)


_NOTHING_FITS = "[yellow]nothing fits this query[/yellow]: its words stand in no passage, or only common ones do"
_NOTHING_ALLOWED = (
    "[yellow]nothing fits within the restriction[/yellow]: `--where` or `--sql` leaves no passage that the query fits; "
    "search without it to see what there is"
)


def show_result(console: Console, found: Any, *, explain: bool, is_restricted: bool = False) -> None:  # noqa: ANN401  a SearchResult
    """Hits with place, score and text; with `explain` the keys, the parts of each score and the path."""
    ways = {way["chunk_id"]: way for way in found.trace.get("hits", [])}
    for hit in found.hits:
        console.print(f"[bold]{hit.rank}[/bold] [dim]{hit.score:.2f}[/dim] [bold]{escape(hit.title)}[/bold]", end=" ")
        console.print(
            f"[dim]{escape(hit.document_id)} {escape(hit.place or f'{hit.start}–{hit.end}')}[/dim]", highlight=False
        )
        print_below(console, snippet(hit.text, hit.title))
        keys = shown_keys(hit.keys, hit.title)[:_SHOWN_KEYS]
        if keys:
            names = " · ".join(key_text(key.value, key.unit, key.type) for key in keys)
            print_below(console, names, style="cyan")
        for one in hit.revised_by:
            print_below(console, _revised(one), style="yellow")
        if explain:
            _explain(console, hit, ways.get(hit.chunk_id, {}))
    for segment in found.segments:
        place = f"{segment.document_id} {segment.start}–{segment.end}"
        console.print(f"[bold]segment[/bold] {escape(place)}", highlight=False)
        print_below(console, snippet(segment.text, segment.title))
    if explain:
        _keys(console, found)
    if not found.fits:
        console.print(_NOTHING_ALLOWED if is_restricted and not found.hits else _NOTHING_FITS, highlight=False)
    seconds = sum(found.seconds.values())
    console.print(
        f"[dim]{len(found.hits)} hits from {escape(found.release)} by {found.method} in {seconds * 1000:.0f} ms[/dim]"
    )


def _revised(one: Any) -> str:  # noqa: ANN401  a HitRevision
    """What another statement says instead of one of a hit, or beside it."""
    values = " → ".join(filter(None, (one.own_value, one.other_value))) or one.quote
    if one.kind == "contradicts":
        values = " / ".join(filter(None, (one.own_value, one.other_value))) or one.quote
    return f"{one.kind}: {values} ({one.title}{f', {one.said}' if one.said else ''}; {one.evidence})"


def show_changes(console: Console, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """What was revised with both values, sources and days; then what is new and what was withdrawn."""
    for row in found["revised"]:
        values = " → ".join(filter(None, (row["earlier_value"], row["later_value"])))
        mark = ", ".join(filter(None, (row["revision_id"], row["decided"])))
        console.print(
            f"[bold]{row['kind']}[/bold] {escape(values or row['attribute'])} [dim]{mark}[/dim]", highlight=False
        )
        for end in ("earlier", "later"):
            said = f", {row[f'{end}_said']}" if row[f"{end}_said"] else ""
            print_below(console, f"{row[f'{end}_document_id']}{said}", style="dim")
    for name in ("new", "withdrawn"):
        for event in found[name]:
            console.print(f"[bold]{name}[/bold] {escape(event['content'])}", highlight=False)
            print_below(console, f"{event['document_id']}{', ' + event['said'] if event['said'] else ''}", style="dim")
    counts = ", ".join(f"{len(rows)} {name}" for name, rows in found.items())
    console.print(f"[dim]{counts}[/dim]", highlight=False)


def print_below(console: Console, text: str, *, indent: int = 2, style: str = "") -> None:
    """Print a paragraph that stays indented where it is wrapped."""
    for line in Text(text, style=style).wrap(console, max(_NARROWEST, console.width - indent)):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line))


def _explain(console: Console, hit: Any, way: Mapping[str, Any]) -> None:  # noqa: ANN401  a Hit
    """Why the hit was found, the terms of its raw score, and the path over key and event, or over the bridge."""
    if way.get("why"):
        console.print(f"  [italic]{escape(way['why'])}[/italic]", highlight=False)
    parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.parts.items())
    console.print(f"  [dim]score: {escape(parts)}[/dim]", highlight=False)
    for path in hit.paths:
        console.print(f"  [dim]path: {escape(path.text)}[/dim]", highlight=False)
    for triple in hit.triples:
        console.print(f"  [dim]states: {escape(triple.text)}[/dim]", highlight=False)
    if hit.paths:
        return
    events = {event.event_id: event.content for event in hit.events}
    steps = [
        ("query", ""),
        ("key", _name(way.get("seed_key"))),
        ("event", events.get(way.get("event_id", ""), "")),
        ("key", _name(way.get("key")) if way.get("key") != way.get("seed_key") else ""),
        ("bridge over", _name((way.get("bridge") or {}).get("over"))),
    ]
    if "path" in way:
        steps = [("query", ""), *way["path"]]
    path = " → ".join(f"{kind} “{value}”" if value else kind for kind, value in steps if value or kind == "query")
    console.print(f"  [dim]{escape(path)} → this[/dim]", highlight=False)


def _name(key: Mapping[str, Any] | None) -> str:
    return key_text(key["value"], key.get("unit"), key.get("type", "")) if key else ""


def _keys(console: Console, found: Any) -> None:  # noqa: ANN401  a SearchResult
    table = Table("hop", "key", "type", "weight", "why", box=None)
    for key in found.keys:
        name = escape(key_text(key.value, key.unit, key.type))
        table.add_row(str(key.hop), name, escape(key.type), f"{key.weight:.3f}", escape(key.reason))
    if found.keys:
        console.print(table)
    if "tiers" in found.trace:
        show_steps(console, found.trace["tiers"], found.trace["titles"], found.trace["stopped_at"])
    for stage in found.trace.get("stages", []):
        values = ", ".join(f"{name} {value}" for name, value in stage.items() if name != "stage")
        console.print(f"[dim]{escape(str(stage['stage']))}: {escape(values)}[/dim]", highlight=False)
    if "dense_share" in found.trace:
        share, embedder = found.trace["dense_share"], found.trace["embedder"]
        console.print(f"[dim]share of the cosine ({embedder}) beside BM25: {share:.0%}[/dim]", highlight=False)


def show_steps(
    console: Console, steps: Sequence[Mapping[str, Any]], titles: Mapping[str, str], stopped_at: str
) -> None:
    """One row per step of tiered retrieval: its query, and what it decided or the first rows it found."""
    table = Table("step", "query", "by", "found or decided", "ms", box=None)
    for step in steps:
        first = [_found_row(titles.get(row, row), score) for row, score in step["hits"][:_SHOWN_ROWS]]
        done = step["decision"] or f"{len(step['hits'])}: {'; '.join(first)}"
        done += f" ({step['note']})" if step["note"] else ""
        table.add_row(step["step"], escape(step["query"]), step["mode"], escape(done), f"{step['milliseconds']:.1f}")
    console.print(table)
    ended = f"stopped at {stopped_at}" if stopped_at else "all tiers were searched"
    console.print(f"[dim]{ended}[/dim]", highlight=False)


def _found_row(title: str, score: float | None) -> str:
    short = title if len(title) <= _SHOWN_TITLE else title[:_SHOWN_TITLE] + "…"
    return f"“{short}”" if score is None else f"“{short}” {score:.2f}"


def show_progress(console: Console, event: Any) -> None:  # noqa: ANN401  an event of asking
    """One line per progress event of `sag ask`, but for the first search, of which an answer shows what counts."""
    if event.kind != "background":
        console.print(f"[dim]{escape(str(event))}[/dim]", highlight=False)


def show_answer(console: Console, found: Any, *, explain: bool = False) -> None:  # noqa: ANN401  an Answer
    """The answer, then its citations: of one from tables rows that stand alone, explained all and the SQL."""
    console.print(escape(found.text), highlight=False)
    if found.sql and not explain:
        for place, beside in groupby(found.citations, lambda each: f"{each.document_id} {each.place}".strip()):
            rows = list(beside)
            named = f"[{rows[0].marker}]" + (f"–[{rows[-1].marker}]" if len(rows) > 1 else "")
            console.print(f"  [bold]{escape(named)}[/bold] [dim]{escape(place)}[/dim]", highlight=False)
            if len(rows) == 1:  # of several the answer names each
                print_below(console, snippet(rows[0].quote), indent=6)
        return
    for citation in found.citations:
        place = f"{citation.document_id} {citation.place or f'{citation.start}–{citation.end}'}"
        console.print(f"  [bold]\\[{citation.marker}][/bold] [dim]{escape(place)}[/dim]", highlight=False)
        print_below(console, snippet(citation.quote), indent=6)
    if found.sql:
        console.print(f"[dim]{escape(found.sql)}[/dim]", highlight=False)


def show_evaluation(console: Console, found: "Evaluation", other: "Evaluation | None", *, explain: bool) -> None:
    """Recall in percent with 95 % intervals, one row per method; below them the paired difference.

    A second table counts passages, where the questions quote evidence.
    """
    console.print(_recall_table(found, other))
    if found.has_passages:
        console.print(_passage_table(found, other))
    if explain:
        stages = Table("stage", "gold alive %", box=None)
        for name, share in found.stages().items():
            stages.add_row(escape(name), f"{100 * share:.1f}")
        console.print(stages)
    console.print(f"[dim]{len(found.outcomes)} questions[/dim]")


def _recall_table(found: "Evaluation", other: "Evaluation | None") -> Table:
    columns = (*(f"R@{k}" for k in found.ks), *(f"all@{k}" for k in found.ks), "p50 ms", "p95 ms")
    table = Table("method", *columns, box=None)
    for one in [found] if other is None else [found, other]:
        seconds = one.seconds_per_query()
        all_gold = (f"{100 * one.all_gold(k).mean:.1f}" for k in one.ks)
        times = (f"{1000 * seconds[p]:.1f}" for p in ("p50", "p95"))
        table.add_row(one.method, *(_percent(one.recall(k)) for k in one.ks), *all_gold, *times)
    _add_difference(table, found, other, "document")
    return table


def _passage_table(found: "Evaluation", other: "Evaluation | None") -> Table:
    table = Table("by passage", *(f"R@{k}" for k in found.ks), box=None)
    for one in [found] if other is None else [found, other]:
        table.add_row(one.method, *(_percent(one.recall(k, "passage")) for k in one.ks))
    _add_difference(table, found, other, "passage")
    return table


def _add_difference(table: Table, found: "Evaluation", other: "Evaluation | None", by: "Unit") -> None:
    from sag_retrieval.evaluation.runner import compare  # noqa: PLC0415  takes time to import

    if other is not None:
        table.add_row(f"{found.method} − {other.method}", *map(_percent, compare(found, other, by).values()))


def _percent(interval: "Interval") -> str:
    return f"{100 * interval.mean:.1f} \\[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def show_scores(console: Console, found: "ScoredOutcomes", by: str) -> None:
    """One row per score: its mean, the 95 % interval, and the number of questions that have it."""
    table = Table("measure", "mean", "95 % interval", "questions", box=None)
    for name in found.names:
        score, count = found.score(name), sum(name in outcome.scores for outcome in found.outcomes)
        table.add_row(name, f"{score.mean:.4f}", f"{score.low:.4f} to {score.high:.4f}", str(count))
    console.print(table)
    console.print(f"[dim]{len(found.outcomes)} questions by {escape(by)}[/dim]", highlight=False)


def show_releases(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """One row per release, oldest first."""
    if not rows:
        console.print("no release yet; make one with `sag ingest`")
        return
    table = Table("", "release", "created", "embedder", "documents", "chunks", "events", "keys", box=None)
    for row in rows:
        counts = row["counts"]
        numbers = (f"{counts[name]:,}" if name in counts else "" for name in ("documents", "chunks", "events", "keys"))
        mark = "●" if row["in_force"] else ""
        names = (escape(str(row[name])) for name in ("release", "created_at", "embedding_model"))
        table.add_row(mark, *names, *numbers)
    console.print(table)
    for row in rows:
        if row["fault"]:
            console.print(f"[yellow]cannot be opened[/yellow] {escape(row['fault'])}", highlight=False, soft_wrap=True)
    _show_measurements(console, rows)


def _show_measurements(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """How releases answered the questions of the home, also those that are pruned, oldest first."""
    found = {each["release"]: each for row in rows for each in row["measurements"]}
    if not found:
        return
    table = Table("questions.jsonl", "created", "questions", "recall@5", "", "answer rate", "", "", box=None)
    for each in sorted(found.values(), key=lambda one: one["created_at"]):
        shares = [each.get(name) for name in ("recall", "answer_rate")]
        told = ((share or 0, "" if share is None else f"{share:.3f}") for share in shares)
        bars = (part for share, text in told for part in (Bar(1, 0, share, width=_BAR_CELLS), text))
        refused = "" if each.get("passed", True) else "[yellow]refused[/yellow]"
        table.add_row(escape(each["release"]), escape(each["created_at"]), str(each["questions"]), *bars, refused)
    console.print(table)
