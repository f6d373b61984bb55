"""Decisions of people on revisions, in `revisions.csv` of the home: which are confirmed, and which are none."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, get_args

from sag_pipeline.extract.claims import Revision
from sag_pipeline.extract.name_decisions import digest_of, read_cells
from sag_retrieval.core import durable
from sag_retrieval.core.errors import QueryError, SourceError, shown
from sag_retrieval.core.settings import load_settings

FILE: Final = "revisions.csv"
RevisionVerb = Literal["confirm", "refuse"]
_COLUMNS: Final = ("decision", "revision_id", "earlier", "later")


@dataclass(frozen=True, slots=True)
class RevisionDecision:
    """A line of the file; both statements stand there to be read."""

    verb: RevisionVerb
    revision_id: str
    earlier: str = ""
    later: str = ""


def read_revision_decisions(home: Path) -> dict[str, RevisionDecision]:
    """The decisions of a home by the id of the revision, the last line of each; none where there is no file."""
    path, found = home / FILE, {}
    for number, cells in read_cells(path, _COLUMNS):
        verb = next((one for one in get_args(RevisionVerb) if one == cells[0].lower()), None)
        if verb is None or len(cells) < 2 or not cells[1]:  # noqa: PLR2004  a decision and what it is about
            raise SourceError(f"{path}, line {number}: write confirm or refuse, and the id that `sag changes` shows")
        found[cells[1]] = RevisionDecision(verb, cells[1], *cells[2:4])
    return found


def decisions_digest(decisions: dict[str, RevisionDecision]) -> str:
    """A hash of what is decided, whatever the order of the lines; empty for nothing."""
    return digest_of((one.revision_id, one.verb) for one in decisions.values())


def decided(found: Iterable[Revision], decisions: dict[str, RevisionDecision]) -> Iterator[Revision]:
    """Revisions without those that people refused; those that they confirmed say so and are certain."""
    for one in found:
        decision = decisions.get(one.revision_id)
        if decision is None:
            yield one
        elif decision.verb == "confirm":
            yield replace(one, decided="confirmed", confidence=1.0)


def decide_revision(verb: RevisionVerb, revision_id: str, *, home: Path | str | None = None) -> RevisionDecision:
    """Confirm or refuse a revision; it holds from the next ingest on, through every further one.

    A later decision on the same revision takes the place of the first, in the file too.

    Examples:
        >>> from sag_pipeline import decide_revision
        >>> decide_revision("refuse", "v0f3c5a7b9d1e2f4")  # doctest: +SKIP
        RevisionDecision(verb='refuse', revision_id='v0f3c5a7b9d1e2f4', earlier='It costs 5.', later='It costs 6.')

    Args:
        verb: `confirm` or `refuse`.
        revision_id: That of the table `revisions`, which `sag changes` shows.
        home: Folder of releases; None: SAG_HOME.

    Raises:
        QueryError: If neither the current release nor the file has the id.
        SourceError: If the file cannot be read.
    """
    from sag_retrieval import open_release  # noqa: PLC0415  an ingest that reads decisions opens no release

    place = Path(load_settings(home=home).home)
    known = read_revision_decisions(place)
    made = None if revision_id not in known else RevisionDecision(verb, *_told(known[revision_id]))
    with open_release(home) as release:
        rows = release.index.rows["revisions"].to_pylist()
        row = next((each for each in rows if each["revision_id"] == revision_id), None)
        if row:
            events = release.index.rows["events"].select(["event_id", "content"]).to_pylist()
            said = {each["event_id"]: each["content"] for each in events}
            made = RevisionDecision(verb, revision_id, *(said[row[f"{end}_event_id"]] for end in ("earlier", "later")))
    if made is None:
        raise QueryError(f"no revision is called {shown(revision_id)}; `sag changes` shows them with their ids")
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(_COLUMNS)
    lines.writerows((one.verb, *_told(one)) for one in {**known, revision_id: made}.values())
    durable.write_text(place / FILE, written.getvalue())
    return made


def _told(one: RevisionDecision) -> tuple[str, str, str]:
    return one.revision_id, one.earlier, one.later
