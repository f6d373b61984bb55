"""The fixed words of a report: what must be said in every language."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """Every word of the page that does not come from the events; `{…}` are places for `format`."""

    lang: str
    kind: str
    contents: str
    stands_out: str
    whats_new: str
    map: str
    timeline: str
    top_keys: str
    communities: str
    sources: str
    how_made: str
    filter: str
    filter_found: str
    light_dark: str
    print_all: str
    to_content: str
    events: str
    documents: str
    keys: str
    new: str
    period: str
    headline: str
    headline_new: str
    event_count: str
    document_count: str
    community_count: str
    new_count: str
    new_events: str
    map_how: str
    map_help: str
    map_legend_new: str
    map_legend_many: str
    map_part: str
    other: str
    zoom_in: str
    zoom_out: str
    fit: str
    all_communities: str
    number: str
    title: str
    main_keys: str
    no_map: str
    timeline_how: str
    timeline_rows: str
    no_dates: str
    no_date: str
    type: str
    key: str
    idf: str
    keys_how: str
    related: str
    typical: str
    more_events: str
    more_in_page: str
    not_listed: str
    further: str
    single: str
    back_to_map: str
    cited_by: str
    approximate: str
    first_report: str
    nothing_new: str
    news_since: str
    news_events: str
    news_no_events: str
    news_gone: str
    news_regrouped: str
    change_joined: str
    change_from: str
    changes_more: str
    status: Mapping[str, str]
    empty: str
    empty_counts: str
    empty_command: str
    no_summary: str
    facts: Mapping[str, str]
    yes: str
    no: str
    everything: str
    overview_key: str
    comma: str
    stop: str
    key_types: Mapping[str, str] = field(default_factory=dict)

    def key_type(self, kind: str) -> str:
        """A key type as readers call it; one that is not known stays as it is."""
        return self.key_types.get(kind.casefold(), kind)

    def counted(self, pattern: str, count: int) -> str:
        """A pattern such as `{count} events` with its number, and in English in the singular for one."""
        text = pattern.format(count=f"{count:,}")
        if count != 1 or self.lang != "en":
            return text
        return f"{text.removesuffix('ies')}y" if text.endswith("ies") else text.removesuffix("s")
