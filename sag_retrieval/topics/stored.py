"""The communities of a whole release, stored beside it: made once, named, and read by tiers and reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, issparse

from sag_retrieval.clusters.events import EventTable, Rows, event_table
from sag_retrieval.clusters.groups import Communities, Community, community_id
from sag_retrieval.clusters.incremental import DRIFT, Carried, LevelChange, Tables, carry
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Normal
from sag_retrieval.clusters.storage import (
    COMMUNITIES,
    DAMAGE,
    REPORTS,
    cited_sentences,
    read_communities,
    read_tables,
    settings_hash,
    with_figures,
    write_communities,
)
from sag_retrieval.models.protocols import ChatModel, Embedder, Vectors, joined
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.folders import delete, mark_of, sweep, write_lock, write_made
from sag_retrieval.release.mapped_arrays import take_rows
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.table import read_parquet
from sag_retrieval.topics.naming import KnownNames, name_communities

StoredRow = Mapping[str, Any]
_NEW: Final[StoredRow] = {"community_id": "", "conductance": 0.0, "title": "", "sentences": (), "keys": ()}
"""What the table would tell of a community that came."""


def carried_communities(
    tables: Tables, carried: Carried, index: Index, models: Mapping[str, str]
) -> tuple[Communities, Mapping[str, str]]:
    """The communities of a changed release, all with names, and the model that named some, by their ids.

    One that lost an event, or names a key that is gone, is named by rule, and so is one with new events that a rule had
    named, as its summary counts them. A name that a model gave stays while events only come.

    Source: docs/algorithm.md §reports.13.
    """
    listed = tables["communities"].to_pylist()
    for row in naming_gone_keys(tables["communities"]["keys"], index):
        listed[row] = _unnamed(listed[row])
    found, ids, named_by = list[Community](), dict[str, str](), dict[str, str]()
    first = 0
    for level, change in enumerate(carried.levels):
        rows = [*listed[first : first + change.before], *[_NEW] * (change.after.count - change.before)]
        first += change.before
        for number in np.unique(change.after.group).tolist():
            before = rows[number]["community_id"]
            each = _changed(level, change, number, rows[number], is_by_model=before in models, index=index)
            found.append(each)
            ids[before] = each.community_id
            if before in models and each.title:
                named_by[each.community_id] = models[before]
    found = sorted(_with_parents(found, carried, index), key=lambda each: (each.level, -len(each.members)))
    whole = with_figures(_named(found, index), tables, ids)  # but for the count, as of the last grouping
    counted = tuple(replace(each, communities=len(whole.at(each.level))) for each in whole.quality)
    return replace(whole, quality=counted), named_by


def naming_gone_keys(keys: pa.ChunkedArray, index: Index) -> set[int]:
    """Rows of the communities whose title or summary names a key that the release does not have."""
    lists = keys.combine_chunks()
    ids = index.rows["keys"]["key_id"].combine_chunks()
    gone = pc.invert(pc.is_in(pc.list_flatten(lists), value_set=ids))
    return set(pc.list_parent_indices(lists).filter(gone).to_pylist())


def _changed(
    level: int, change: LevelChange, number: int, row: StoredRow, *, is_by_model: bool, index: Index
) -> Community:
    lost, gained = bool(change.lost[number]), bool(change.gained[number])
    told = _unnamed(row) if lost or (gained and not is_by_model) else row
    members, centrality = change.members[number]
    return Community(
        community_id=community_id(level, _ids(index, members)) if lost or gained else row["community_id"],
        parent_id=None,
        level=level,
        members=members,
        centrality=centrality,
        weight=float(change.after.weight[number]),
        conductance=row["conductance"],
        title=told["title"],
        summary=cited_sentences(told),
        keys=tuple(told["keys"]),
    )


def _ids(index: Index, events: Rows) -> list[str]:
    found: list[str] = take_rows(index.rows["events"].select(["event_id"]), events)["event_id"].to_pylist()
    return found


def _unnamed(row: StoredRow) -> StoredRow:
    return {**row, "title": "", "sentences": (), "keys": ()}


def _with_parents(found: Sequence[Community], carried: Carried, index: Index) -> list[Community]:
    """The same, each with the id of the community above that holds its events."""
    places = [change.after.places(index.arrays.event_count) for change in carried.levels]
    above = {(each.level, int(places[each.level][each.members[0]])): each.community_id for each in found}
    return [
        replace(each, parent_id=above[each.level + 1, int(places[each.level + 1][each.members[0]])])
        if each.level + 1 < len(places)
        else each
        for each in found
    ]


def _named(found: Sequence[Community], index: Index) -> list[Community]:
    """The same; those without a title get one, and a summary, by rule."""
    unnamed = [each for each in found if not each.title]
    allowed = np.zeros(index.arrays.event_count, np.bool_)
    for each in unnamed:
        allowed[each.members] = True
    events: EventTable = event_table(index, allowed, is_part=True)
    place = np.cumsum(allowed, dtype=np.int32) - 1
    moved = Communities(communities=tuple(replace(each, members=place[each.members]) for each in unnamed), quality=())
    taken: dict[int, list[str]] = {}
    for each in found:
        taken.setdefault(each.level, []).append(each.title)
    named = {each.community_id: each for each in name_communities(events, moved, taken_by_level=taken).communities}
    return [each if each.title else replace(named[each.community_id], members=each.members) for each in found]


NAMED_BY: Final = "named_by.json"
"""The model that named a community, by its id; those named by rules are not listed."""
MADE_FOR: Final = "made_for.json"
"""For which release communities hold, and for which all events were grouped; see `_Told`."""
_OLD_DRAFT: Final = f".{COMMUNITIES}-"
"""Beginning of a draft's name in version 0.1."""


@dataclass(frozen=True, slots=True)
class StoredNames:
    """Titles and summaries by community id, and the model that wrote them where one did."""

    names: KnownNames = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    def by(self, chat: ChatModel | None) -> "StoredNames":
        """Those that stay with this model: its own; without a model, all."""
        if chat is None:
            return self
        own = {name: model for name, model in self.models.items() if model == chat.model_id and name in self.names}
        return StoredNames({name: self.names[name] for name in own}, own)


def release_communities(
    reader: Reader,
    options: ClusterOptions,
    chat: ChatModel | None = None,
    earlier: Path | None = None,
    *,
    is_carried: bool = False,
) -> Communities:
    """Make and store the communities of a whole release, unless they are there; same members keep their names.

    Those for other options, or damaged, are replaced. A model names what it has not named yet; without one, rules do,
    and names that a model gave stay, as do names of the earlier release. Where `is_carried`, communities of the earlier
    release are carried over where few of its events have changed, and those that an ingest carried over are enough. A
    report about the whole release groups all. Source: docs/algorithm.md §reports.11 and §reports.13.
    """
    folder = reader.folder / COMMUNITIES
    kept = kept_communities(reader, options, is_carried=is_carried)
    if kept is not None and (chat is None or mark_of(folder) == _mark(options, chat)):
        return kept
    if chat is None and earlier is not None and is_carried:
        carried = _carried(reader, options, earlier / COMMUNITIES)
        if carried is not None:
            return carried
    from sag_retrieval.topics.topics import build_topics  # noqa: PLC0415  loads the graph libraries

    events = event_table(reader.index)
    built = build_topics(events, options) if kept is None else kept
    names, models = dict[str, Any](), dict[str, str]()
    for each in filter(None, (earlier, reader.folder)):
        stored = stored_names(each / COMMUNITIES, reader.index).by(chat)
        names |= stored.names
        models = {name: model for name, model in models.items() if name not in stored.names} | {**stored.models}
    known = {each.community_id: names[each.community_id] for each in built if each.community_id in names}
    named = name_communities(events, built, chat, known).communities
    if chat is None:
        models = {name: models[name] for name in known if name in models}
    else:
        models = {each.community_id: chat.model_id for each in named}
    normal, content = built.normal if kept is None else _told_of(folder).normal, reader.manifest.content_hash
    told = _Told(content, content, len(events), normal=normal)
    _store(reader, named, models, told, _mark(options, chat), earlier)
    return named


@dataclass(frozen=True, slots=True)
class _Told:
    """What `made_for.json` says: for which release communities hold, and for which all events were grouped."""

    content_hash: str
    grouped: str
    events: int
    moved: int = 0
    normal: Normal | None = None


def _told_of(folder: Path) -> _Told:
    told = json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))
    return _Told(**{**told, "normal": Normal(**told["normal"]) if told["normal"] else None})


def _carried(reader: Reader, options: ClusterOptions, earlier: Path) -> Communities | None:
    """The communities of an earlier release, changed as its events have, and stored; None where they cannot be."""
    if options.method != "leiden" or not (mark_of(earlier) or "").startswith(_mark(options)):
        return None
    try:
        told, tables, models = _told_of(earlier), read_tables(earlier), stored_names(earlier).models
    except DAMAGE:
        return None
    if told.normal is None:
        return None
    found = carry(tables, reader.index, options, told.normal, DRIFT * told.events - told.moved)
    if found is None:
        return None
    communities, models = carried_communities(tables, found, reader.index, models)
    told = replace(told, content_hash=reader.manifest.content_hash, moved=told.moved + found.moved)
    _store(reader, communities, models, told, _mark(options), earlier.parent)
    return communities


def _store(
    reader: Reader, communities: Communities, models: Mapping[str, str], told: _Told, mark: str, earlier: Path | None
) -> None:
    """Replace the communities of a release, with what tiers and the next release read, and the list of all files."""
    folder = reader.folder / COMMUNITIES

    def finish(draft: Path) -> None:
        (draft / NAMED_BY).write_text(json.dumps(models, sort_keys=True), encoding="utf-8")
        (draft / MADE_FOR).write_text(json.dumps(asdict(told)), encoding="utf-8")
        write_category_vectors(draft, reader.index.embedder, earlier / COMMUNITIES if earlier else None)
        write_made(draft, mark)

    with write_lock(reader.folder.parents[1] / REPORTS):
        sweep(reader.folder, _OLD_DRAFT)
        if folder.exists():
            delete(folder)
        write_communities(folder, communities, reader.index.rows["events"]["event_id"].combine_chunks(), finish)
    if remote := Releases(reader.folder.parents[1]).remote:
        remote.push_beside(reader.folder.name)


def kept_communities(reader: Reader, options: ClusterOptions, *, is_carried: bool = False) -> Communities | None:
    """The communities stored beside a release; None where there are none of these options, or they are damaged.

    Or where they were carried over from an earlier release and only those of a grouping of all events are wanted.
    """
    folder = reader.folder / COMMUNITIES
    if not (mark_of(folder) or "").startswith(_mark(options)):
        return None
    try:
        told, content = _told_of(folder), reader.manifest.content_hash
        if told.content_hash != content or (told.grouped != content and not is_carried):
            return None
        return read_communities(read_tables(folder), reader.index.rows["events"]["event_id"].to_pylist())
    except DAMAGE:
        return None


def stored_names(folder: Path, index: Index | None = None) -> StoredNames:
    """The names of the communities in a folder; none where they are missing or damaged.

    Titles and summaries with a key that the release of the index does not have are left out: it may have been removed.
    """
    if mark_of(folder) is None:
        return StoredNames()
    try:
        rows = read_parquet(folder / "communities.parquet", ["community_id", "title", "sentences", "keys"])
        models = json.loads((folder / NAMED_BY).read_text(encoding="utf-8")) if (folder / NAMED_BY).exists() else {}
    except DAMAGE:
        return StoredNames()
    left_out = naming_gone_keys(rows["keys"], index) if index is not None else set()
    kept = [row for place, row in enumerate(rows.to_pylist()) if place not in left_out]
    return StoredNames({row["community_id"]: (row["title"], cited_sentences(row)) for row in kept}, models)


def _mark(options: ClusterOptions, chat: ChatModel | None = None) -> str:
    """What communities were made with: their options, then the model that was asked for names."""
    return f"{settings_hash(asdict(options))}-{settings_hash(chat.model_id) if chat else ''}"


VECTORS: Final = "categories.npz"
_FEWEST_EVENTS: Final = 2
"""A community of one event is that event, which its own tier finds."""
_COLUMNS: Final = ["community_id", "title", "summary", "level", "size"]
Stored = Mapping[str, npt.NDArray[Any]]


def categories_in(communities: pa.Table) -> pa.Table:
    """The rows of the finest communities of two events and more."""
    finest = pc.equal(communities["level"], pc.min(communities["level"]))
    return communities.filter(pc.and_(finest, pc.greater_equal(communities["size"], _FEWEST_EVENTS)))


def category_texts(categories: pa.Table) -> list[str]:
    """The text of each that is embedded."""
    pairs = zip(categories["title"].to_pylist(), categories["summary"].to_pylist(), strict=True)
    return [f"{title}: {summary}" for title, summary in pairs]


def write_category_vectors(folder: Path, embedder: Embedder, earlier: Path | None = None) -> None:
    """Write the vectors of the communities in a folder; texts of an earlier one are not embedded again."""
    texts = _texts_in(folder)
    known, old = _earlier(earlier, embedder)
    fresh = [text for text in dict.fromkeys(texts) if text not in known]
    number = known | {text: len(known) + place for place, text in enumerate(fresh)}
    parts = [each for each in (old, embedder.embed(fresh) if fresh else None) if each is not None]
    if not parts:
        np.savez(folder / VECTORS, fingerprint=np.array(embedder.fingerprint))
        return
    rows = joined(parts)[np.array([number[text] for text in texts], np.int64)]
    write = np.savez_compressed if issparse(rows) else np.savez  # every release in a bucket sends this file
    write(folder / VECTORS, fingerprint=np.array(embedder.fingerprint), **_as_arrays(rows))


def read_category_vectors(folder: Path, embedder: Embedder) -> Vectors | None:
    """The vectors in a folder, in the order of `categories_in`; None without any of this embedder."""
    try:
        with np.load(folder / VECTORS) as stored:
            return _as_vectors(stored) if str(stored["fingerprint"]) == embedder.fingerprint else None
    except DAMAGE:
        return None


def _earlier(folder: Path | None, embedder: Embedder) -> tuple[dict[str, int], Vectors | None]:
    """Row by text, and the vectors, of an earlier release; nothing where they cannot be used."""
    try:
        texts = _texts_in(folder) if folder else []
    except DAMAGE:
        texts = []
    vectors = read_category_vectors(folder, embedder) if folder and texts else None
    if vectors is None or len(texts) != vectors.shape[0]:
        return {}, None
    return {text: row for row, text in enumerate(texts)}, vectors


def _texts_in(folder: Path) -> list[str]:
    return category_texts(categories_in(read_parquet(folder / "communities.parquet", columns=_COLUMNS)))


def _as_arrays(vectors: Vectors) -> dict[str, Any]:
    if not issparse(vectors):
        return {"dense": np.asarray(vectors, np.float32)}
    rows = csr_array(vectors)
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}


def _as_vectors(stored: Stored) -> Vectors | None:
    if "dense" in stored:
        return np.asarray(stored["dense"], np.float32)
    if "data" not in stored:
        return None
    parts = (stored["data"], stored["indices"], stored["indptr"])
    return csr_array(parts, shape=tuple(stored["shape"].tolist()))
