"""A wrong argument is refused with what was meant, by an error of ours."""

import re

import pytest

from sag_retrieval import (
    AskOptions,
    FilterError,
    QueryError,
    ReleaseError,
    SagError,
    SettingsError,
    load_settings,
    open_release,
)

WRONG = [
    (QueryError, 'did you mean ["Heron"]?', lambda r: r.search("x", keys="Heron")),
    (QueryError, "keys must be a list of texts, got ''", lambda r: r.search("x", keys="")),
    (QueryError, "a key must be text, got 3", lambda r: r.search("x", keys=[3])),
    (QueryError, "top_k must be at least 1, got -1", lambda r: r.search("x", top_k=-1)),
    (QueryError, "top_k must be at least 1, got 0", lambda r: r.search("x", top_k=0)),
    (QueryError, "got '3'; did you mean 3?", lambda r: r.search("x", top_k="3")),
    (QueryError, "a whole number, got 2.5", lambda r: r.search("x", top_k=2.5)),
    (FilterError, 'such as {"language": "en"}', lambda r: r.search("x", where="language = 'en'")),
    (FilterError, "a condition in SQL is given as sql=", lambda r: r.search("x", where="")),
    (FilterError, "empty sql", lambda r: r.search("x", sql="")),
    (FilterError, "sql must be text, got 5", lambda r: r.search("x", sql=5)),
    (QueryError, "a query must be text, got None", lambda r: r.search(None)),
    (QueryError, "the query is empty", lambda r: r.search(" \n")),
    (QueryError, "did you mean 'bm25'?", lambda r: r.search("x", method="bm52")),
    (QueryError, "method None is none of sag,", lambda r: r.search("x", method=None)),
    (SettingsError, "'hops'", lambda r: r.search("x", options={"hop": 2})),
    (SettingsError, "hops=9", lambda r: r.search("x", options={"hops": 9})),
    (SettingsError, "AskOptions", lambda r: r.search("x", options=AskOptions())),
    (SettingsError, "method 'bm25' has no options", lambda r: r.search("x", method="bm25", options={"hops": 2})),
    (SettingsError, "did you mean 'precision'?", lambda r: r.search("x", segments="precise")),
    (SettingsError, "names and values or SegmentOptions, got 3", lambda r: r.search("x", segments=3)),
    (QueryError, "a list of ids, got 'd'", lambda r: r.search("x", explain=True, gold_documents="d")),
    (QueryError, "a question must be text, got None", lambda r: r.ask(None)),
    (QueryError, "the question is blank", lambda r: r.ask("")),
    (QueryError, "mode 'quick' is unknown", lambda r: r.ask("x", mode="quick")),
    (SettingsError, "'top_k'", lambda r: r.ask("x", options={"topk": 2})),
    (SettingsError, "'hops'", lambda r: r.ask("x", search_options={"hop": 2})),
    (FilterError, "where must map", lambda r: r.ask("x", where="y")),
    (FilterError, "empty sql", lambda r: r.ask("x", sql="")),
    (FilterError, "where must map", lambda r: r.report(where="")),
    (FilterError, "empty sql", lambda r: r.report(sql="")),
    (SettingsError, "'title'", lambda r: r.report(options={"titel": "x"})),
    (QueryError, "did you mean 'events'?", lambda r: r.table("event")),
    (QueryError, "table 3 is none of", lambda r: r.table(3)),
    (QueryError, "chunk_id 'c' is not in chunks", lambda r: r.chunk("c")),
    (QueryError, "a document id must be text, got None", lambda r: r.document(None)),
    (FilterError, "sql must be text, got None", lambda r: r.sql(None)),
]


@pytest.mark.parametrize(("kind", "told", "call"), WRONG, ids=[told for _, told, _ in WRONG])
def test_a_wrong_argument_is_refused_with_what_was_meant(demo, kind, told, call):
    with open_release() as release, pytest.raises(kind, match=re.escape(told)) as caught:
        call(release)

    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("told", "call"),
    [
        ("did you mean 'home'?", lambda: load_settings(hoem="x")),
        ("did you mean 'chat_model'?", lambda: load_settings(chatmodel="offline")),
        ("SAG_LANGUAGE", lambda: load_settings(language="fr")),
        ("verify 'some' is none of", lambda: open_release(verify="some")),
        ("SAG_HOME", lambda: open_release(3)),
        ("release must be an id, got 5", lambda: open_release(release=5)),
        ("release 'r' is not below", lambda: open_release(release="r")),
    ],
)
def test_a_wrong_setting_is_refused_with_what_was_meant(demo, told, call):
    with pytest.raises(SagError, match=re.escape(told)):
        call()


CALLS = {
    "search": lambda r: r.search("x"),
    "ask": lambda r: r.ask("x"),
    "report": lambda r: r.report(),
    "table": lambda r: r.table("events"),
    "sql": lambda r: r.sql("SELECT 1 AS one"),
    "document": lambda r: r.document("d"),
    "chunk": lambda r: r.chunk("c"),
    "index": lambda r: r.index,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_release_says_so(demo, name):
    release = open_release()
    find = release.searcher()
    release.close()
    release.close()

    for call in (CALLS[name], lambda _: find("x")):
        with pytest.raises(ReleaseError, match=r"this release is closed; open it again with open_release\(\)"):
            call(release)
    assert repr(release).endswith(", closed)")
    assert release.tables["documents"] == release.manifest.counts["documents"]
    assert "(closed)" in release._repr_html_()


def test_a_release_that_was_closed_in_a_block_is_closed(demo):
    with open_release() as release:
        result = release.search("Who made the O-ring?")

    assert result.to_pandas()["text"][0] == result[0].text
    with pytest.raises(ReleaseError, match="closed"):
        release.search("x")
