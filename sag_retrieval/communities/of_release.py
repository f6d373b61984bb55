"""The communities of a whole release, stored beside it: made once, named, and read by tiers and reports."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from sag_retrieval.communities.category_vectors import write_category_vectors
from sag_retrieval.communities.events import event_table
from sag_retrieval.communities.groups import CitedSentence, Communities
from sag_retrieval.communities.naming import KnownNames, name_communities
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.storage import (
    COMMUNITIES,
    DAMAGE,
    REPORTS,
    drafted,
    read_communities,
    read_tables,
    settings_hash,
    write_communities,
)
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.folders import delete, link, mark_of, sweep, write_lock, write_made
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.releases import Releases

NAMED_BY: Final = "named_by.json"
"""The model that named a community, by its id; those named by rules are not listed."""
MADE_FOR: Final = "made_for.json"
"""Content and number of events of the release that was grouped."""
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


NEW_SHARE: Final = 0.02
"""Share of events that an ingest leaves without a community, before it groups all events again."""


def release_communities(
    reader: Reader,
    options: ClusterOptions,
    chat: ChatModel | None = None,
    earlier: Path | None = None,
    new_share: float = 0.0,
) -> Communities:
    """Make and store the communities of a whole release, unless they are there; same members keep their names.

    Args:
        reader: The release.
        options: How events become communities; communities stored for other options, or damaged, are replaced.
        chat: Gives titles and summaries to those that it has not named yet; None: rules do, and names that a model
            gave stay.
        earlier: Folder of an earlier release, whose names are kept.
        new_share: If none of the events of the earlier release's communities is gone, and at most this share of the
            release's events is new, those communities are kept as they are, by links; `tiers` finds the new events as
            it finds events without a community, and a report about the whole release groups all events.

    Source:
        docs/algorithm.md §reports.11.

    """
    folder = reader.folder / COMMUNITIES
    kept = kept_communities(reader, options, new_share)
    if kept is not None and (chat is None or mark_of(folder) == _mark(options, chat)):
        return kept
    if chat is None and earlier is not None and new_share:
        carried = _stored_of(earlier / COMMUNITIES, reader, options, new_share)
        if carried is not None:
            _keep(reader, partial(_link_files, earlier / COMMUNITIES))
            return carried
    from sag_retrieval.communities.clustering import build_communities  # noqa: PLC0415  loads the graph libraries

    events = event_table(reader.index)
    built = build_communities(events, options) if kept is None else kept
    stored = [stored_names(each / COMMUNITIES).by(chat) for each in (earlier, reader.folder) if each is not None]
    known = _joined(stored).among(each.community_id for each in built)
    named = name_communities(events, built, chat, known.names).communities
    models = known.models if chat is None else {each.community_id: chat.model_id for each in named}
    finish = partial(_finish, reader, models, _mark(options, chat), earlier)
    _keep(reader, lambda into: write_communities(into, named, events.event_ids, finish))
    return named


def _keep(reader: Reader, write: Callable[[Path], None]) -> None:
    """Replace the communities of a release by what is written."""
    folder = reader.folder / COMMUNITIES
    with write_lock(reader.folder.parents[1] / REPORTS):
        sweep(reader.folder, _OLD_DRAFT)
        if folder.exists():
            delete(folder)
        write(folder)
    if remote := Releases(reader.folder.parents[1]).remote:
        remote.push_beside(reader.folder.name)


def _link_files(earlier: Path, folder: Path) -> None:
    with drafted(folder) as draft:
        for path in sorted(earlier.iterdir()):
            link(path, draft / path.name)


def _joined(stored: Sequence[StoredNames]) -> StoredNames:
    joined = StoredNames()
    for each in stored:
        joined |= each
    return joined


def _finish(reader: Reader, models: Mapping[str, str], mark: str, earlier: Path | None, draft: Path) -> None:
    """Add to the tables what tiers and the next release read, and the list of all files."""
    (draft / NAMED_BY).write_text(json.dumps(models, sort_keys=True), encoding="utf-8")
    told = {"content_hash": reader.manifest.content_hash, "events": reader.index.arrays.event_count}
    (draft / MADE_FOR).write_text(json.dumps(told), encoding="utf-8")
    write_category_vectors(draft, reader.index.embedder, earlier / COMMUNITIES if earlier else None)
    write_made(draft, mark)


def kept_communities(reader: Reader, options: ClusterOptions, new_share: float = 0.0) -> Communities | None:
    """The communities stored beside a release; None where there are none of these options, or they are damaged.

    Or where more than this share of the release's events has none, as they were made for an earlier release.
    """
    return _stored_of(reader.folder / COMMUNITIES, reader, options, new_share)


def _stored_of(folder: Path, reader: Reader, options: ClusterOptions, new_share: float) -> Communities | None:
    if not (mark_of(folder) or "").startswith(_mark(options)):
        return None
    try:
        told = json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))
        tables, events = read_tables(folder), reader.index.rows["events"]["event_id"]
        if told["content_hash"] != reader.manifest.content_hash:
            grouped, new = tables["community_events"]["event_id"], len(events) - told["events"]
            is_whole = pc.all(pc.is_in(grouped, events.combine_chunks())).as_py() is not False
            if not is_whole or not 0 <= new <= new_share * len(events):
                return None
        return read_communities(tables, events.to_pylist())
    except DAMAGE:
        return None


def stored_names(folder: Path) -> StoredNames:
    """The names of the communities in a folder; none where they are missing or damaged."""
    if mark_of(folder) is None:
        return StoredNames()
    try:
        rows = pq.read_table(folder / "communities.parquet", columns=["community_id", "title", "sentences"])
        models = json.loads((folder / NAMED_BY).read_text(encoding="utf-8")) if (folder / NAMED_BY).exists() else {}
    except DAMAGE:
        return StoredNames()
    names = {
        row["community_id"]: (
            row["title"],
            tuple(CitedSentence(each["text"], tuple(each["event_ids"])) for each in row["sentences"]),
        )
        for row in rows.to_pylist()
    }
    return StoredNames(names, models)


def _mark(options: ClusterOptions, chat: ChatModel | None = None) -> str:
    """What communities were made with: their options, then the model that was asked for names."""
    return f"{settings_hash(asdict(options))}-{settings_hash(chat.model_id) if chat else ''}"
