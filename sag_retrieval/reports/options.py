"""Options of reports."""

from dataclasses import dataclass, field
from typing import Literal

from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.core.errors import SettingsError

Language = Literal["auto", "zh", "en"]
_MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Title, subject and length of a report.

    Release, range, counts around the range and models are only printed: the caller has chosen the events.

    Raises:
        SettingsError: If a value is out of bounds, with the value and the bound.

    """

    title: str = ""
    """Empty: the kind of page."""
    language: Language = "auto"
    """Of the page's own words; `auto`: that of most events."""
    release: str = ""
    released: str = ""
    """Date of the release: the report bears no other date."""
    scope: str = ""
    """The `sql` or `where` that chose the events; empty: everything."""
    period: str = ""
    events_before: int = 0
    events_after: int = 0
    """Events before and after the range, printed where the range holds none."""
    models: str = ""
    failures: int = 0
    """Communities a model could not describe."""
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    full_articles: int = 40
    articles: int = 200
    on_map: int = 60
    typical: int = 6
    list_all_up_to: int = 3_000
    """Reports of more events list only typical and new ones."""

    def __post_init__(self) -> None:
        """Check every bound once."""
        for name, value in (
            ("full_articles", self.full_articles),
            ("articles", self.articles),
            ("on_map", self.on_map),
            ("typical", self.typical),
        ):
            if not 1 <= value <= _MOST:
                raise SettingsError(f"{name} is {value}, allowed are 1 to {_MOST}")
        if self.language not in ("auto", "zh", "en"):
            raise SettingsError(f"language is {self.language!r}, allowed are auto, zh, en")
