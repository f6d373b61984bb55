"""Describe a home: what is stored, pending and skipped, its sources, last run, sizes, and how it grows."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from sag_pipeline.extract.name_decisions import (
    DecisionVerb,
    decide_name,
    decisions_file,
    read_decisions,
    undo_decision,
)
from sag_pipeline.llm.checked import UNTAKEN
from sag_pipeline.options import IngestOptions
from sag_pipeline.runs.unchanged import keeps_history
from sag_pipeline.step_runner import step_of
from sag_pipeline.store.source_list import Source, SourceList
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import stored_vectors
from sag_pipeline.tables import INPUTS
from sag_retrieval.clusters.storage import REPORTS
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.home_urls import shown_home
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, CacheError
from sag_retrieval.release.releases import FoundRelease, Releases

if TYPE_CHECKING:
    from sag_pipeline.extract.entity_resolution import KeyColumns


def status_of(settings: Settings) -> dict[str, Any]:
    """Counts by table, skipped and failed with reasons, sources, last run, sizes and growth; nothing is changed."""
    store, releases = Store(settings.home), Releases(settings.home)
    steps, paths = growth_of(settings.home), releases.paths()
    return {
        "home": shown_home(settings.home),
        "release": releases.current(),
        **{name: str(paths[name]) if name in paths else None for name in ("duckdb", "lance")},
        "release_age_hours": age_hours(settings.home),
        "last_run": _last_run(settings),
        "sources": [source_row(store, listed, source) for listed in [SourceList(store)] for source in listed],
        "sizes": sizes_of(settings.home),
        "growth": steps,
        "mean_growth": mean_growth(steps),
        "megabytes": store.parts.bytes_used() / 1e6,
        "tables": [_table(store, name) for name in INPUTS],
        "put_aside": _entries(store, "status IN ('failed', 'partial')"),
        "warnings": _entries(store, "status = 'done' AND kind = 'document' AND reason <> ''"),
        "known_names_not_taken": _untaken(store),
        "calls": _calls(store),
        "names": _names(store, decisions_file(settings)),
    }


def _names(store: Store, path: Path) -> dict[str, Any]:
    """Decisions of people on names, those that name what no document names, or why the file cannot be used."""
    try:
        decisions = read_decisions(path)
    except SourceError as error:
        return {"file": str(path), "decisions": {}, "unused": [], "reason": str(error)}
    keys, aliases = (store.whole(name) if decisions.lines else None for name in ("distinct_keys", "key_aliases"))
    names = keys["name"].to_pylist() if keys is not None else []
    former = aliases["alias"].to_pylist() if aliases is not None else []
    unused = decisions.unused([*names, *map(normal_name, former)])
    return {
        "file": str(path),
        "decisions": dict(Counter(one.verb for one in decisions.lines)),
        "unused": [f"line {one.line}: {one.verb} {one.name} / {one.other}" for one in unused],
        "reason": None,
    }


def source_row(store: Store, listed: SourceList, source: Source) -> dict[str, Any]:
    """A source, whether it exists, its documents, its skipped files, and when it was ingested last."""
    ((documents, aside),) = store.ledger.select(
        "SELECT count(*) FILTER (kind = 'document'), count(*) FILTER (kind = 'aside') "
        "FROM current WHERE step = 'documents' AND list_contains(?, source)",
        sorted(listed.spellings(source)),
    )
    return {
        "source": source.name,
        "path": source.path,
        "is_there": source.is_there,
        "documents": documents,
        "put_aside": aside,
        "last_ingest": source.last_ingest,
    }


def _last_run(settings: Settings) -> dict[str, Any] | None:
    """The newest ingest that Dagster recorded; None where no record is kept or none can be read."""
    if not keeps_history(settings.home):
        return None
    from sag_pipeline.runs.dagster_runs import last_run, open_instance  # noqa: PLC0415  Dagster takes a second to import

    try:
        with open_instance() as instance:
            return last_run(instance, "ingest", settings.home)
    except Exception as error:  # noqa: BLE001  a database that is away must not hide what is stored
        return {"outcome": "unknown", "reason": " ".join(str(error).split())}


def _table(store: Store, name: str) -> dict[str, Any]:
    found = store.ledger.counts(name)
    documents, rows = found["documents"] - found["failed"], found["rows"]
    failed = found["failed"] + found["partial"] + found["skipped"]
    if name == "vectors":  # documents share them, so the ledger counts none
        rows = stored_vectors(store.home)
    pending = 0
    if INPUTS[name]:  # pending by changed input only: the options of the next run are not known here
        done = {e.unit for e in store.ledger.entries("step = ? AND status <> 'failed'", name)}
        pending = sum(p.document_id not in done for p in store.pending(step_of(name, IngestOptions())))
    return {
        "table": name,
        "documents": documents,
        "rows": rows,
        "pending": pending,
        "failed": failed,
    }


def _entries(store: Store, condition: str) -> list[dict[str, Any]]:
    return [
        {
            "step": entry.step,
            "source": entry.source,
            "file": entry.path or (entry.source if entry.kind == "aside" else entry.unit),
            "line": entry.line if entry.line >= 0 else None,
            "reason": entry.reason,
            "attempts": entry.attempts,
        }
        for entry in store.ledger.entries(condition)
    ]


def _untaken(store: Store) -> int:
    """Known names that a model gave for another name, and that the check of its answers did not take."""
    entries = store.ledger.entries("step = 'keys' AND kind = 'document' AND reason <> ''")
    parts = [part for entry in entries for part in entry.reason.split("; ") if part.endswith(UNTAKEN)]
    counts = (part.removesuffix(UNTAKEN).split()[-1:] for part in parts)
    plain = (count[0].replace(",", "") for count in counts if count)
    return sum(int(count) for count in plain if count.isascii() and count.isdecimal())


def _calls(store: Store) -> list[dict[str, Any]]:
    """Requests, tokens and cost by step; several answers of one request count as one request."""
    requests = _requests(Path(store.home) / ANSWERS)
    totals: dict[str, dict[str, Any]] = {}
    for rows in store.scan("calls"):
        for row in rows.to_pylist():
            total = totals.setdefault(row["step"], {"step": row["step"], **dict.fromkeys(_NUMBERS, 0), "cost": 0.0})
            if row["is_cached"]:
                total["cached"] += 1
                continue
            total["calls"] += requests.get(row["call_id"], 1)
            total["input_tokens"] += row["input_tokens"]
            total["output_tokens"] += row["output_tokens"]
            total["cost"] += row["cost"] or 0.0
    return [totals[step] for step in sorted(totals)]


_NUMBERS = ("calls", "cached", "input_tokens", "output_tokens")


def _requests(path: Path) -> dict[str, int]:
    """Requests by answer, where it was not one; empty where the file of answers is missing or unreadable."""
    if not path.is_file():
        return {}
    try:
        with AnswerCache(path) as cache:
            return cache.requests()
    except CacheError:
        return {}


def undecided_pairs(settings: Settings, most: int) -> tuple[Path, list[dict[str, Any]]]:
    """The file of decisions, and the closest pairs of names, the closest first."""
    from sag_pipeline.llm.same_names import close_pairs  # noqa: PLC0415
    from sag_pipeline.publish.distinct_keys import text_keys  # noqa: PLC0415  `sag status` needs neither
    from sag_pipeline.publish.links import whole_table  # noqa: PLC0415

    path, store = decisions_file(settings), Store(settings.home)
    decided = {frozenset(pair) for pair in read_decisions(path).pairs("apart", "merge", "rename")}
    keys = text_keys(whole_table(store, "distinct_keys"))
    aligned = frozenset(whole_table(store, "canonical")["key_id"].to_pylist())
    rows = [row for row, key_id in enumerate(keys.key_ids) if key_id not in aligned]
    pairs = (pair for pair in close_pairs(keys, rows) if {keys.names[pair.one], keys.names[pair.other]} not in decided)
    found = [
        {"closeness": pair.score, "name": _described(keys, pair.one), "other": _described(keys, pair.other)}
        for pair, _ in zip(pairs, range(most), strict=False)
    ]
    return path, found


class HomeDecider:
    """Decisions on the names of a home, for who shows them elsewhere than `sag keys`."""

    def __init__(self, home: Path | None = None) -> None:
        """Hold the home; None: SAG_HOME."""
        self._home = home

    def decide(self, verb: DecisionVerb, name: str, other: str) -> None:
        """As `decide_name`."""
        decide_name(verb, name, other, home=self._home)

    def undo(self, line: int) -> None:
        """As `undo_decision`."""
        undo_decision(line, home=self._home)

    def decided(self) -> list[dict[str, Any]]:
        """Every line: its number, decision and names."""
        lines = read_decisions(decisions_file(load_settings(home=self._home))).lines
        return [{"line": one.line, "decision": one.verb, "name": one.name, "other": one.other} for one in lines]

    def close(self, most: int) -> list[dict[str, Any]]:
        """As `undecided_pairs`."""
        return undecided_pairs(load_settings(home=self._home), most)[1]


def _described(keys: "KeyColumns", row: int) -> dict[str, Any]:
    return {"name": keys.values[row], "type": keys.key_types[row], "events": keys.event_counts[row]}


_KINDS: Final = {
    "tables": "tables",
    "ledger": "ledger",
    "vectors": "vectors",
    "embedder": "vectors",
    "releases": "releases",
    REPORTS: "reports",
}
"""Folder below the home → kind of content; answers of a model are files, and all else is `other`."""
_ORDER: Final = ("tables", "ledger", "answers", "vectors", "releases", "reports", "other")
_COUNTED: Final = ("documents", "chunks", "events", "keys")


def sizes_of(home: Path) -> dict[str, float]:
    """Megabytes below a home by kind; a file that lies in two places by a hard link counts once, as vectors."""
    found = dict.fromkeys(_ORDER, 0)
    for kind, _, size in _kinds_of(home):
        found[kind] += size
    return {kind: round(size / 1e6, 3) for kind, size in found.items()}


def parts_of(home: Path) -> dict[str, Any]:
    """What takes the space below a home, the largest first, and how many times the text of all documents that is.

    Texts count in UTF-8, as they are read from files: megabytes of their own, of each part and of all together.
    """
    taken: Counter[str] = Counter()
    for kind, path, size in _kinds_of(home):
        taken[_part(kind, path.relative_to(home))] += size
    texts = (rows["text"] for rows in Store(home).scan("documents", ["text"]))
    text = sum(pc.sum(pc.binary_length(each)).as_py() or 0 for each in texts)
    rows = [{"part": part, "megabytes": size / 1e6, "times": size / max(text, 1)} for part, size in taken.most_common()]
    return {"text_megabytes": text / 1e6, "times": taken.total() / max(text, 1), "parts": rows}


def _part(kind: str, path: Path) -> str:
    """Of a release what each has; of vectors their table; else the folder."""
    below = path.parts[1:]
    if kind == "releases":
        below = tuple(step for step in below[1:] if step != "layers" and not step.isdigit())[:1]
    elif kind == "vectors":
        below = tuple(step.rpartition("-")[0] for step in below if step.endswith(".lance"))
    return "/".join((kind, *(below[:1] if kind == "releases" or len(path.parts) > 2 else ())))  # noqa: PLR2004  no file


def _kinds_of(home: Path) -> Iterator[tuple[str, Path, int]]:
    """Kind, path and bytes of each file; of one that lies in two places by a hard link once, as vectors."""
    known = set[tuple[int, int]]()
    for kind, folder in sorted(_folders(home), key=lambda each: each[0] == "releases"):  # vectors before their links
        for path, stat in _files(folder):
            if (place := (stat.st_dev, stat.st_ino)) not in known:
                known.add(place)
                yield kind, path, stat.st_size


def _folders(home: Path) -> Iterator[tuple[str, Path]]:
    for entry in sorted(home.iterdir()) if home.is_dir() else ():
        yield "answers" if entry.name.startswith(ANSWERS) else _KINDS.get(entry.name, "other"), entry


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file at or below a path; what a running ingest deletes meanwhile is left out."""
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in names] or [folder]
    for path in paths:
        try:
            if path.is_file() and not path.is_symlink():
                yield path, path.stat()
        except OSError:
            continue


def age_hours(home: Path, now: datetime | None = None) -> float | None:
    """Hours since the current release was made; None if there is none."""
    below = Releases(home)
    current = below.current()
    made = [each.created_at for each in below.found() if each.folder.name == current]
    return round(((now or datetime.now(UTC)) - made[0]).total_seconds() / 3600, 2) if made else None


def growth_of(home: Path) -> list[dict[str, Any]]:
    """What each release has more than the one before it, oldest first, as far back as releases are kept.

    Rows by table, negative where there are fewer, and megabytes of its own files and of those shared with the vectors.
    """
    whole = [each for each in Releases(home).found() if each.manifest is not None]
    return [_between(old, new) for old, new in pairwise(whole)]


def _between(old: FoundRelease, new: FoundRelease) -> dict[str, Any]:
    before, after = (each.manifest.counts if each.manifest else {} for each in (old, new))
    return {
        "release": new.folder.name,
        "created_at": new.created_at.isoformat(timespec="seconds"),
        **{name: int(after.get(name, 0)) - int(before.get(name, 0)) for name in _COUNTED},
        "megabytes": round((_bytes_of(new.folder) - _bytes_of(old.folder)) / 1e6, 3),
    }


def _bytes_of(folder: Path) -> int:
    return sum(stat.st_size for _, stat in _files(folder))


def mean_growth(steps: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What one release adds on average; empty before the second one."""
    digits = {**dict.fromkeys(_COUNTED, 1), "megabytes": 3}
    return {name: round(sum(step[name] for step in steps) / len(steps), n) for name, n in digits.items() if steps}
