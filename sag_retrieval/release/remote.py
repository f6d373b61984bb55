"""Releases in a bucket: fetched to the mirror before they are opened, sent to it before they are current.

releases/<id>/manifest.json       the manifest, put after all files that it names; they lie in files/<hash>
releases/<id>/communities.json    the files of its communities, which may be made again
releases/<id>/communities.lance.json    those of their Lance table
CURRENT                           the current release, replaced on the tag that was seen
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError
from sag_retrieval.release.manifest import MANIFEST, Fill, unpacked_list
from sag_retrieval.release.schema import LANCE
from sag_retrieval.release.vectors import DENSE
from sag_retrieval.remote.mirror import FILES, Entries, Mirror, listed_below, make_room, touch, write_conditional

POINTER: Final = "CURRENT"
_BELOW: Final = "releases/"
BESIDE: Final = {"communities": "communities", "communities.lance": f"{LANCE}/communities.lance"}
"""What is made of a release after it: the name of its list in the bucket, and its folder below the release."""
_SMALL: Final = 1_000_000
"""Bytes. A file up to this length is fetched whole, at once."""


class RemoteReleases:
    """The releases of a bucket. A swap of `CURRENT` replaces what was seen first, which a publish was built on."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._folder = mirror.folder / "releases"
        self._seen: tuple[str | None, str | None] | None = None

    def current(self) -> str | None:
        """Id of the current release; None before the first one."""
        found = self._mirror.read(POINTER)
        named, tag = (None, None) if found is None else (_named(found[0]), found[1])
        if self._seen is None:
            self._seen = named, tag
        return named

    def make_current(self, release_id: str) -> None:
        """Replace the release that was current when this was first asked.

        Raises:
            BucketError: If another run made another one current meanwhile.
        """
        before, tag = self._before()
        told = {"release": release_id, "before": before, "writer": uuid4().hex}
        done = write_conditional(self._mirror.files, POINTER, (json.dumps(told) + "\n").encode(), tag)
        if done is None:
            now = self.current()
            raise BucketError(
                f"release {release_id} is not current: another run made {now} current in {self._mirror.url} meanwhile; "
                "run `sag ingest` again, which goes on from there"
            )
        self._seen = release_id, done
        durable.write_text(self._mirror.folder / POINTER, release_id + "\n")

    def _before(self) -> tuple[str | None, str | None]:
        """Id and tag of the release that was current when this was first asked."""
        if self._seen is None:
            self.current()
        return self._seen or (None, None)

    def ids(self) -> list[str]:
        """Ids of all releases whose manifest is there."""
        found = self._mirror.files.list(_BELOW)
        return [each.key.split("/")[1] for each in found if each.key.endswith(f"/{MANIFEST}")]

    def has(self, release_id: str) -> bool:
        """Whether a release is in the bucket."""
        return self._mirror.read(_key(release_id)) is not None

    def pull_manifests(self) -> list[str]:
        """Fetch the manifest of every release, and return their ids."""
        found = self.ids()
        for release_id in found:
            self._pull_manifest(release_id)
        return found

    def pull(self, release_id: str, *, is_tolerant: bool = False, by_block: bool = False) -> bool:
        """Fetch a release and what lies beside it, but for what is there already; False if there is no such release.

        `is_tolerant` leaves out files that are missing or damaged, `by_block` the vectors, which a `filler` fetches.
        """
        place = self._folder / release_id
        if not self._pull_manifest(release_id):
            return False
        entries = dict(manifest_files((place / MANIFEST).read_bytes()))
        for name in [each for each in entries if by_block and _is_by_block(each, entries[each][0])]:
            self._mirror.place_partial(place / name, *entries.pop(name))
        try:
            self._mirror.fetch_all(entries, place, is_tolerant=is_tolerant)
        except BucketError:
            if self._mirror.read(_key(release_id)) is None:
                (place / MANIFEST).unlink(missing_ok=True)
                raise FileNotFoundError(place) from None  # it was pruned meanwhile
            raise
        self.pull_beside(release_id)
        touch(place)
        make_room(self._mirror, place)
        return True

    def filler(self, release_id: str) -> Fill:
        """What fetches blocks of the files that were left out."""
        place, entries = self._folder / release_id, manifest_files((self._folder / release_id / MANIFEST).read_bytes())

        def fill(name: str, spans: Sequence[tuple[int, int]], again: bool) -> None:  # noqa: FBT001
            if _is_by_block(name, entries[name][0]):
                self._mirror.partial(*entries[name]).fill(place / name, spans, again=again)

        return fill

    def _pull_manifest(self, release_id: str) -> bool:
        path = self._folder / release_id / MANIFEST
        if path.is_file():
            return True
        found = self._mirror.read(_key(release_id))
        if found is None:
            return False
        durable.make_folder(path.parent)
        durable.write_text(path, found[0].decode("utf-8", "replace"))
        return True

    def pull_beside(self, release_id: str) -> None:
        """Fetch the communities of a release; those of this machine are replaced only if they are other ones."""
        for name, below in BESIDE.items():
            place, tree = self._folder / release_id / below, self._mirror.tree(_beside(release_id, name))
            if tree.tag is not None and (own := listed_below(place)) != tree.entries:
                for path in own:
                    (place / path).unlink()
                self._mirror.fetch_all(tree.entries, place)

    def push(self, folder: Path, known: Iterable[str] = ()) -> None:
        """Send a finished release, its manifest last."""
        manifest = (folder / MANIFEST).read_bytes()
        self._mirror.push_all(manifest_files(manifest), folder, known)
        self._mirror.files.put(_key(folder.name), manifest)

    def push_beside(self, release_id: str) -> None:
        """Send the communities of a release."""
        for name, below in BESIDE.items():
            place = self._folder / release_id / below
            self._mirror.update_tree(_beside(release_id, name), place, listed_below(place), lambda _: True)

    def delete(self, release_ids: Sequence[str]) -> None:
        """Delete releases: manifests first, so that nobody opens them; their files are deleted by `collect`."""
        self._mirror.files.delete([_key(release_id) for release_id in release_ids])
        self._mirror.files.delete([_beside(release_id, name) for release_id in release_ids for name in BESIDE])

    def known(self) -> set[str]:
        """Hashes of the files of the current release, which need not be sent again."""
        named, _ = self._before()
        found = self._mirror.read(_key(named)) if named else None
        return set() if found is None else {digest for _, digest in manifest_files(found[0]).values()}

    def collect(self, oldest: datetime) -> list[str]:
        """Delete files that nothing names and that were written before a time; returns their keys."""
        gone = [each.key for each in self._mirror.files.list(f"{FILES}/") if each.modified <= oldest]
        if gone:
            named = self.named()
            gone = [key for key in gone if key.removeprefix(f"{FILES}/") not in named]
            self._mirror.files.delete(gone)
        return gone

    def named(self) -> dict[str, int]:
        """Length by hash of all files that a release, its communities, or a list of files at the top names."""
        found = dict[str, int]()
        for key in (*TREES, *(each.key for each in self._mirror.files.list(_BELOW))):
            if key.endswith(f"/{MANIFEST}"):
                body = self._mirror.read(key)
                found |= {digest: length for length, digest in manifest_files(body[0]).values()} if body else {}
            elif key in TREES or key.endswith(tuple(f"/{name}.json" for name in BESIDE)):
                found |= {digest: length for length, digest in self._mirror.tree(key).entries.values()}
        return found


def _is_by_block(name: str, length: int) -> bool:
    """Whether a file holds vectors, and is large enough for a search to read a part of it."""
    return length > _SMALL and (name.startswith(f"{LANCE}/") or name.endswith(DENSE))


TREES: Final = ("HEAD", "REPORTS")
"""Lists of files at the top of a bucket: of what an ingest needs, and of reports."""


def manifest_files(manifest: bytes) -> Entries:
    """The files that the text of a manifest names; none if it cannot be read."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return unpacked_list(json.loads(manifest)["files"])
    return {}


def _named(body: bytes) -> str | None:
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["release"])
    return None


def _key(release_id: str) -> str:
    return f"{_BELOW}{release_id}/{MANIFEST}"


def _beside(release_id: str, name: str) -> str:
    return f"{_BELOW}{release_id}/{name}.json"
