"""The communities of a whole release, stored beside it: made once, named, and read by tiers and reports."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from sag_retrieval.clusters.events import event_table
from sag_retrieval.clusters.groups import CitedSentence, Communities
from sag_retrieval.clusters.incremental import Grouped, carry
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Normal
from sag_retrieval.clusters.storage import (
    COMMUNITIES,
    DAMAGE,
    REPORTS,
    read_communities,
    read_tables,
    settings_hash,
    write_communities,
)
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.folders import delete, mark_of, sweep, write_lock, write_made
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.table import read_parquet
from sag_retrieval.topics.carried import carried_communities, naming_gone_keys
from sag_retrieval.topics.category_vectors import write_category_vectors
from sag_retrieval.topics.naming import KnownNames, name_communities

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

    def among(self, ids: Iterable[str]) -> "StoredNames":
        """Those of some communities."""
        kept = [name for name in ids if name in self.names]
        models = {name: self.models[name] for name in kept if name in self.models}
        return StoredNames({name: self.names[name] for name in kept}, models)

    def __or__(self, other: "StoredNames") -> "StoredNames":
        """Both; of a community in both, the name and the model of the other."""
        models = {name: model for name, model in self.models.items() if name not in other.names}
        return StoredNames({**self.names, **other.names}, {**models, **other.models})


def release_communities(
    reader: Reader,
    options: ClusterOptions,
    chat: ChatModel | None = None,
    earlier: Path | None = None,
    *,
    is_carried: bool = False,
) -> Communities:
    """Make and store the communities of a whole release, unless they are there; same members keep their names.

    Args:
        reader: The release.
        options: How events become communities; communities stored for other options, or damaged, are replaced.
        chat: Gives titles and summaries to those that it has not named yet; None: rules do, and names that a model
            gave stay.
        earlier: Folder of an earlier release, whose names are kept.
        is_carried: Whether the communities of the earlier release are carried over where few of its events have
            changed, and those that an ingest carried over are enough. A report about the whole release groups all.

    Source:
        docs/algorithm.md §reports.11 and §reports.12.

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
    stored = [
        stored_names(each / COMMUNITIES, reader.index).by(chat) for each in (earlier, reader.folder) if each is not None
    ]
    known = _joined(stored).among(each.community_id for each in built)
    named = name_communities(events, built, chat, known.names).communities
    models = known.models if chat is None else {each.community_id: chat.model_id for each in named}
    told = _told(reader, built.normal if kept is None else _told_of(folder).normal)
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


def _told(reader: Reader, normal: Normal | None) -> _Told:
    content = reader.manifest.content_hash
    return _Told(content, content, reader.index.arrays.event_count, 0, normal)


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
    found = carry(tables, reader.index, options, Grouped(told.events, told.moved, told.normal))
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


def _joined(stored: Sequence[StoredNames]) -> StoredNames:
    joined = StoredNames()
    for each in stored:
        joined |= each
    return joined


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

    Args:
        folder: That of the communities.
        index: Leave out titles and summaries with a key that this release does not have: it may have been removed.

    """
    if mark_of(folder) is None:
        return StoredNames()
    try:
        rows = read_parquet(folder / "communities.parquet", ["community_id", "title", "sentences", "keys"])
        models = json.loads((folder / NAMED_BY).read_text(encoding="utf-8")) if (folder / NAMED_BY).exists() else {}
    except DAMAGE:
        return StoredNames()
    left_out = naming_gone_keys(rows["keys"], index) if index is not None else set()
    names = {
        row["community_id"]: (
            row["title"],
            tuple(CitedSentence(each["text"], tuple(each["event_ids"])) for each in row["sentences"]),
        )
        for place, row in enumerate(rows.to_pylist())
        if place not in left_out
    }
    return StoredNames(names, models)


def _mark(options: ClusterOptions, chat: ChatModel | None = None) -> str:
    """What communities were made with: their options, then the model that was asked for names."""
    return f"{settings_hash(asdict(options))}-{settings_hash(chat.model_id) if chat else ''}"
