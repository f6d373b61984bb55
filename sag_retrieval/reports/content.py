"""Everything a report says, as values: page, Markdown twin and tables are drawn from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sag_retrieval.reports.changes import Change
from sag_retrieval.reports.citations import Cite, CitedSource
from sag_retrieval.reports.map import Label


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with its citations; `row` is the event's, or -1 for a sentence of a summary."""

    text: str
    cites: tuple[Cite, ...] = ()
    date: str = ""
    row: int = -1
    is_new: bool = False
    lang: str = ""
    """Set where it is in another language than the page."""


@dataclass(frozen=True, slots=True)
class Chips:
    """Keys of one type with their counts."""

    type: str
    keys: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Related:
    """A tied community and the keys it shares."""

    number: int
    title: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """One community as the report tells it. `theme` is 0 to 4, or 5 for other."""

    number: int
    community_id: str
    title: str
    theme: int
    size: int
    document_count: int
    period: str
    new_count: int
    status: str
    main_keys: tuple[str, ...]
    is_full: bool
    summary: tuple[Statement, ...] = ()
    chips: tuple[Chips, ...] = ()
    related: tuple[Related, ...] = ()
    typical: tuple[Statement, ...] = ()
    rest: tuple[Statement, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class Theme:
    """A group of communities: its colour's number, title, and the articles in order of rank."""

    theme: int
    title: str
    articles: tuple[Article, ...]


@dataclass(frozen=True, slots=True)
class Highlight:
    """A community that stands out, with one sentence."""

    article: Article
    statement: Statement


@dataclass(frozen=True, slots=True)
class News:
    """A changed community: the change, in figures too, its article's number (None: it has none), its newest events."""

    change: Change
    told: str
    number: int | None
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class TopKey:
    """A row of the table of keys; `share` is its bar, 0 to 1."""

    type: str
    value: str
    events: int
    share: float
    idf: float
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """An event on the map, or the first of several; `row` is linked to if it is listed."""

    x: float
    y: float
    target: str
    tip: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Circle:
    """A community on the map."""

    article: Article
    x: float
    y: float
    radius: float
    label: Label
    dot_radius: float
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class MapEdge:
    """A tie on the map between two communities by number."""

    one: int
    two: int
    x1: float
    y1: float
    x2: float
    y2: float
    width: float


@dataclass(frozen=True, slots=True)
class MapView:
    """The map: its box, lines under circles, and what is not on it."""

    box: str
    lines: tuple[MapEdge, ...]
    circles: tuple[Circle, ...]
    events_per_dot: int
    community_count: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar or circle of the timeline."""

    x: float
    y: float
    size: float
    target: str
    tip: str


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One community's row."""

    article: Article
    label: str
    y: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class TimelineView:
    """The timeline as drawn."""

    width: float
    height: float
    left: float
    right: float
    bar_base: float
    bar_width: float
    bars: tuple[Mark, ...]
    rows: tuple[TimelineRow, ...]
    years: tuple[tuple[float, str], ...]
    undated_x: float | None
    is_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The whole report, in the order of the page."""

    title: str
    report_id: str
    headline: str
    figures: tuple[tuple[str, str], ...]
    highlights: tuple[Highlight, ...] = ()
    news_sentence: str = ""
    news: tuple[News, ...] = ()
    regrouped: tuple[News, ...] = ()
    """Communities that changed without a new event."""
    news_left: int = 0
    themes: tuple[Theme, ...] = ()
    map: MapView | None = None
    timeline: TimelineView | None = None
    top_keys: tuple[TopKey, ...] = ()
    singles: tuple[Statement, ...] = ()
    singles_left: int = 0
    further: int = 0
    sources: tuple[CitedSource, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    empty: tuple[str, str] | None = None
    """For a range without events: counts around it and the command that widens it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    citation_count: int = 0
    has_new: bool = False

    @property
    def articles(self) -> tuple[Article, ...]:
        """All articles by number."""
        return tuple(sorted((each for theme in self.themes for each in theme.articles), key=lambda a: a.number))
