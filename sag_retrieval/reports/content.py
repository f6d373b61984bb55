"""Values that sections are made of: statements with their citations, and the communities that get an article."""

from dataclasses import dataclass

from sag_retrieval.communities.events import Rows
from sag_retrieval.communities.groups import CitedSentence


@dataclass(frozen=True, slots=True)
class Reference:
    """A citation before it has a number: the cited event's row and the name of the citing place.

    `printed` is false where print leaves the citing text out.
    """

    row: int
    place: str
    printed: bool = True


@dataclass(frozen=True, slots=True)
class Cite:
    """One numbered citation: its source, the mark in the source, and its own number in the page."""

    source: int
    mark: int
    reference: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence and the events that it cites; `cites` is empty until the finished report is numbered."""

    text: str
    references: tuple[Reference, ...] = ()
    cites: tuple[Cite, ...] = ()
    date: str = ""
    row: int = -1
    """Row of the event; -1 for a sentence of a summary."""
    is_new: bool = False
    lang: str = ""
    """Set where it is in another language than the page."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedCommunity:
    """A community that gets an article, with the events chosen for it. Number 1 is the heaviest."""

    number: int
    community_id: str
    title: str
    summary: tuple[CitedSentence, ...]
    members: Rows
    theme: int
    """0 to 4, or 5 for other."""
    document_count: int
    period: str
    new_count: int
    status: str
    """Of its change since the earlier report; empty if it has not changed."""
    is_full: bool
    typical: tuple[int, ...]
    """Rows of its typical events."""
    rest: tuple[int, ...]
    """Rows of the other events that its article lists."""
    main_keys: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Count of its events."""
        return len(self.members)

    @property
    def unlisted(self) -> int:
        """Count of its events that the article does not list."""
        return self.size - len(self.typical) - len(self.rest)
