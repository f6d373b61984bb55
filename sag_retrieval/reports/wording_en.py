"""The fixed words of a report in English."""

from types import MappingProxyType

from sag_retrieval.reports.wording import Messages

EN = Messages(
    lang="en",
    kind="Community report",
    contents="Contents",
    stands_out="What stands out",
    whats_new="What is new",
    map="Map of the communities",
    timeline="Timeline",
    top_keys="Top keys",
    communities="Communities",
    sources="Sources",
    how_made="How this report was made",
    filter="Filter events or communities",
    filter_found="{count} events found",
    light_dark="Light / dark",
    print_all="Print every event",
    to_content="Skip to the report",
    events="Events",
    documents="Documents",
    keys="Keys",
    new="New",
    period="Period",
    headline="{events} from {documents} form {communities}; the largest is “{title}” ({size})",
    headline_new=", and {new} events are new since the previous release",
    event_count="{count} events",
    document_count="{count} documents",
    community_count="{count} communities",
    new_count="{count} new",
    new_events="{count} new events",
    map_how=(
        "Each circle is a community: its area stands for its events. Each dot is an event: "
        "the nearer the centre, the more typical. Lines join communities that share keys or meaning; "
        "the wider, the stronger. "
        "Tied communities lie near each other, otherwise the position has no meaning. "
        "Colours stand for themes."
    ),
    map_help=(
        "Click a circle to open its community, a dot to open its event. "
        "Zoom with + − Fit, by dragging, double click or Ctrl + wheel, or with the keys + − 0 and the arrows."
    ),
    map_legend_new="new since the previous release",
    map_legend_many="one dot stands for {count} events",
    map_part="The map shows the {shown} largest of {count} communities.",
    other="Other",
    zoom_in="Zoom in",
    zoom_out="Zoom out",
    fit="Fit",
    all_communities="All communities",
    number="No.",
    title="Title",
    main_keys="Main keys",
    no_map="There is one community only, or fewer than 10 events, so there is no map.",
    timeline_how=(
        "The bars on top are all events of a period. Each row is a community; "
        "the area of a circle stands for its events in that period. "
        "Click a circle to open the first of them."
    ),
    timeline_rows="Only the {shown} largest communities have a row.",
    no_dates="None of the events has a date, so there is no timeline.",
    no_date="No date",
    type="Type",
    key="Key",
    idf="idf",
    keys_how="Ordered by events × idf: keys that are frequent and still tell communities apart.",
    related="Related communities",
    typical="Most typical events",
    more_events="{count} more events",
    more_in_page="{count} more events (in the web page)",
    not_listed="{count} further events are not listed here; see {file}.",
    further="{count} smaller communities have no article here; see {file}.",
    single="Single events",
    back_to_map="Back to the map",
    cited_by="Cited by",
    approximate="approximate",
    first_report="This is the first report: there is no earlier release to compare with.",
    nothing_new="Nothing has changed since {release}.",
    news_since="Since release {release}: ",
    news_events="{new} in {documents}, {titles}",
    news_no_events="no new events, but other communities",
    news_gone="; gone: {gone}",
    news_regrouped="Changed without new events: {count}",
    change_joined="{count} from other communities",
    change_from="from {titles}",
    changes_more="{count} further communities have changed; see {file}.",
    status=MappingProxyType(
        {
            "new": "New",
            "grown": "Grown",
            "shrunk": "Shrunk",
            "merged": "Merged",
            "split": "Split off",
            "changed": "Other members",
            "gone": "Gone",
        }
    ),
    empty="The chosen range holds no events.",
    empty_counts="There are {before} events before the range and {after} after it.",
    empty_command="To widen it:",
    no_summary="There is no summary. Main keys: {keys}",
    facts=MappingProxyType(
        {
            "release": "Release",
            "released": "Released",
            "previous": "Compared with",
            "scope": "Range",
            "period": "Period",
            "method": "Grouping",
            "parameters": "Parameters",
            "levels": "Levels",
            "models": "Models",
            "counts": "Counts",
            "quality": "Quality",
            "left_out": "Left out",
            "failures": "Without summary",
        }
    ),
    yes="yes",
    no="no",
    everything="everything",
    overview_key="Main keys",
    comma=", ",
    stop=".",
)
