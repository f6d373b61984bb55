"""Communities of a whole release, kept beside it."""

from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path

from sag_retrieval.communities.clustering import build_communities
from sag_retrieval.communities.events import event_table
from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.naming import known_names, name_communities
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.storage import COMMUNITIES, REPORTS, read_kept, write_communities
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.folders import delete, mark_of, sweep, write_lock, write_made
from sag_retrieval.release.reader import Reader


def release_communities(
    reader: Reader, options: ClusterOptions, chat: ChatModel | None = None, earlier: Path | None = None
) -> Communities:
    """The communities of a whole release, kept beside it; titles of communities with the same members are kept.

    Args:
        reader: The release.
        options: How events become communities; other options replace what is kept, and so does a damage to it.
        chat: Gives titles and summaries; None: rules do.
        earlier: Folder of an earlier release, whose titles are kept.

    """
    folder = reader.folder / COMMUNITIES
    events = event_table(reader.index)
    mark = settings_hash(asdict(options), chat.model_id if chat else "offline")
    kept = read_kept(folder, events.event_ids) if mark_of(folder) == mark else None
    if kept is not None:
        return kept
    others = read_kept(earlier / COMMUNITIES, events.event_ids) if earlier else None
    known = known_names(others) if others is not None else None
    communities = name_communities(events, build_communities(events, options), chat, known).communities
    with write_lock(reader.folder.parents[1] / REPORTS):
        sweep(reader.folder, f".{COMMUNITIES}-")
        if folder.exists():
            delete(folder)
        write_communities(folder, communities, events.event_ids)
        write_made(folder, mark)
    return communities


def settings_hash(*parts: object) -> str:
    """A short hash of option values: the same values give the same name of a folder."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
