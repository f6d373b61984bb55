"""Results count, convert and show themselves."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from sag_retrieval import METHODS, FilterError, QueryError, Ranking, SearchOptions, list_releases, open_release
from sag_retrieval.ask.answer import Answer, Citation
from sag_retrieval.evaluation import Question, evaluate, evaluate_answers
from sag_retrieval.release.sandbox import SandboxOptions, SqlSandbox
from sag_retrieval.search.result import Hit, HitKey, SearchResult

QUESTION = "Which company made the part that caused the sensors to leak?"


@pytest.fixture
def release(demo):
    with open_release() as opened:
        yield opened


def test_a_result_is_a_sequence_of_its_hits(release):
    result = release.search(QUESTION, top_k=5)

    assert len(result) == len(result.hits) == 5
    assert list(result) == list(result.hits)
    assert result[0] == result.hits[0]
    assert result[-1] in result
    assert result[1:3].hits == result.hits[1:3]
    assert result[1:3].keys == result.keys
    assert not result[:0]
    with pytest.raises(IndexError):
        result[5]


def test_hits_below_a_score_are_left_out(release):
    every = release.search(QUESTION)
    least = every[1].score

    kept = release.search(QUESTION, min_score=least)

    assert [hit.chunk_id for hit in kept] == [hit.chunk_id for hit in every if hit.score >= least]
    assert len(kept) < len(every)


def test_nothing_fits_nonsense(release):
    assert release.search(QUESTION).fits
    assert not release.search("asdfgh qwerty").fits
    assert not release.search("asdfgh qwerty", min_score=0.15)


def test_hits_become_rows(release):
    result = release.search(QUESTION, top_k=3)
    frame = result.to_pandas()

    assert frame["text"].tolist() == [hit.text for hit in result]
    assert frame["events"][0].tolist() == [event.content for event in result[0].events]
    assert frame["part.bm25"].tolist() == [hit.parts["bm25"] for hit in result]
    assert result.to_arrow().slice(0, 1).equals(result[0].to_arrow())
    assert result[:0].to_arrow().num_rows == 0
    assert result[:0].to_arrow().column_names == [n for n in frame.columns if not n.startswith("part.")]


def test_every_result_converts_under_the_same_names(release):
    asked = [Question(id="1", question=QUESTION, gold_documents=("kestrel-7-recall-2022.md",))]
    result = release.search(QUESTION)
    results = [
        (result, len(result)),
        (result[0], 1),
        (release.ask(QUESTION), len(release.ask(QUESTION).citations)),
        (release.report(period="2022..2022"), None),
        (evaluate(release.searcher(), asked), 1),
        (evaluate_answers(release.ask, asked), 1),
        (release.chunk(result[0].chunk_id), 1),
        (release.document(result[0].document_id), 1),
        (release.sql("SELECT title FROM documents LIMIT 4"), 4),
    ]

    for each, count in results:
        assert json.loads(each.to_json(indent=1)) == json.loads(json.dumps(each.to_dict()))
        assert len(each.to_pandas()) == each.to_arrow().num_rows
        assert count is None or each.to_arrow().num_rows == count


def test_results_say_what_they_are(release):
    result, answer = release.search(QUESTION), release.ask(QUESTION)

    assert repr(release) == f"Release({release.release_id!r}, 23 documents, 260 events)"
    assert repr(result) == "SearchResult(10 hits by sag, best 'Recall of Kestrel-7 batch K7-2204')"
    assert repr(result[:1]).startswith("SearchResult(1 hit by sag")
    assert repr(result[:0]) == "SearchResult(0 hits by sag)"
    assert str(answer) == answer.text
    assert repr(answer).startswith("Answer('The leak came from")
    assert repr(answer).endswith(", 1 citation)")
    assert len(answer.citations) == 1
    assert repr(release.sql("SELECT 1 AS a, 2 AS b")) == "SqlResult(1 row of a, b)"


class Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


EVIL = "<script>alert('x')</script>\" onmouseover=\"y"


def test_whatever_a_text_holds_is_shown_as_text():
    hit = Hit(1, 0.5, "c", EVIL, EVIL, EVIL, (), (HitKey("k", EVIL, EVIL, EVIL),), 0, 0, 9)
    result = SearchResult(EVIL, EVIL, EVIL, (hit,), (), {})
    answer = Answer(
        EVIL, EVIL, EVIL, is_found=True, citations=(Citation(1, "c", EVIL, EVIL, 0, 9, EVIL),), notes=(EVIL,)
    )

    for shown in (result, answer):
        page = Tags(shown._repr_html_())
        assert "script" not in page.tags
        assert EVIL in page.text
        assert {name for name, _ in page.attributes} <= {"class", "title"}


def test_what_a_notebook_shows_has_the_facts_and_asks_for_nothing_outside(release):
    result, answer = release.search(QUESTION, top_k=2), release.ask(QUESTION)
    shown = {
        "hits": (result, [result[0].title, f"{result[0].start}–{result[0].end}", "O-ring"]),
        "answer": (answer, [answer.text, answer.citations[0].quote, "[1]"]),
        "report": (release.report(period="2022..2022"), ["events", "report.html"]),
        "release": (release, [release.release_id, "event_keys", f"{release.tables['event_keys']:,}"]),
        "sql": (release.sql("SELECT title FROM documents ORDER BY title"), ["title", "23 rows"]),
        "chunk": (release.chunk(result[0].chunk_id), [result[0].text]),
    }

    for name, (each, facts) in shown.items():
        html = each._repr_html_()
        page = Tags(html)
        assert all(fact in page.text for fact in facts), name
        assert not {"script", "img", "link", "iframe"} & set(page.tags)
        assert "http" not in html
        assert "url(" not in html


def test_where_a_notebook_drops_styles_keys_stay_apart_and_lines_of_an_answer_too():
    keys = tuple(HitKey(f"k{name}", "organisation", name, name) for name in ("Marlow Seals", "Hailan"))
    hit = Hit(1, 0.5, "c", "Recall", "Recall", "It leaked.", (), keys, 0, 0, 9)
    result = SearchResult("Who?", "sag", "r1", (hit,), (), {})
    answer = Answer("Who?", "First.\nSecond.", "global", is_found=True, citations=(), notes=())

    assert "Marlow Seals · Hailan" in Tags(result._repr_html_()).text
    assert "ol" not in Tags(result._repr_html_()).tags
    assert "First.<br>\nSecond." in answer._repr_html_()


def test_long_texts_and_many_rows_are_cut_where_they_are_shown(release):
    page = Tags(release.sql("SELECT e.event_id FROM events AS e")._repr_html_())

    assert page.tags.count("tr") == 51
    assert "260 rows, 50 shown" in page.text


def test_every_table_that_is_named_can_be_read(release):
    for name, count in release.tables.items():
        assert len(release.table(name)) == count
    assert list(release.table("calls"))[:2] == ["call_id", "document_id"]


def test_a_chunk_and_its_document_agree(release):
    hit = release.search(QUESTION)[0]
    chunk, document = release.chunk(hit.chunk_id), release.document(hit.document_id)

    assert document.text[chunk.start : chunk.end] == chunk.text == hit.text
    assert (chunk.events, chunk.keys, chunk.title) == (hit.events, hit.keys, document.title)
    assert document.chunk_ids[chunk.chunk_index] == chunk.chunk_id
    for chunk_id in document.chunk_ids:
        assert release.chunk(chunk_id).document_id == document.document_id


def test_sql_gives_rows_in_its_order_as_plain_values(release):
    found = release.sql("SELECT language, sum(char_count) AS n FROM documents GROUP BY language ORDER BY language DESC")
    documents = release.table("documents")

    sums = documents.groupby("language")["char_count"].sum()
    assert found.rows == [{"language": name, "n": int(sums[name])} for name in ("zh", "en")]
    assert (found[-1], list(found), len(found)) == (found.rows[-1], found.rows, 2)
    assert json.loads(found.to_json())["rows"] == found.rows


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("DROP TABLE events", "only SELECT"),
        ("SELECT * FROM calls", "table 'calls'"),
        ("SELECT * FROM read_csv('/etc/passwd')", "refused"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("language = 'en'", "SELECT … FROM"),
        ("SELECT 1 AS a, 2 AS a", "several columns are called 'a'"),
        ("SELECT nothing FROM events", "nothing"),
        ("", "empty sql"),
    ],
)
def test_sql_goes_through_the_guard_of_filters(release, sql, told):
    with pytest.raises(FilterError, match=told):
        release.sql(sql)


MANY = ", ".join(f"events {name}" for name in "abcdefghij")
SLOW = "SELECT sum(length(a.content) * length(b.content) * length(c.content) % 7) FROM events a, events b, events c"


@pytest.mark.parametrize(
    ("bounds", "sql", "told"),
    [
        ({"rows": 5}, "SELECT event_id FROM events", "more than 5 rows"),
        ({"size": 100}, "SELECT content FROM events", "100 bytes"),
        ({"seconds": 0.2}, f"{SLOW}, events d", "took longer"),
        ({"seconds": 0.2}, f"SELECT a.content AS x FROM {MANY}", "took longer|more memory"),
    ],
)
def test_sql_is_bounded(release, bounds, sql, told):
    sandbox = SqlSandbox(release._reader.index.rows, options=SandboxOptions(**bounds))

    with pytest.raises(FilterError, match=told):
        sandbox.select(sql)


def test_a_function_of_ones_own_ranks(release):
    def shortest(index, query):
        lengths = np.array([len(text) for text in index.rows["chunks"]["text"].to_pylist()])
        rows = np.argsort(lengths, kind="stable")[: query.top_k].astype(np.int32)
        return Ranking(rows, 1 / lengths[rows])

    result = release.search("anything", top_k=3, method=shortest)
    answer = release.ask(QUESTION, method=shortest)

    assert result.method == "shortest"
    assert [len(hit.text) for hit in result] == sorted(release.table("chunks")["text"].str.len())[:3]
    assert answer.hits[0].chunk_id == result[0].chunk_id


def test_options_by_object_and_by_name_are_the_same(release):
    by_object = release.search(QUESTION, options=SearchOptions(hops=2, text_count=9))
    by_name = release.search(QUESTION, options={"hops": 2, "text_count": 9})

    assert by_object.hits == by_name.hits
    assert by_object.hits != release.search(QUESTION).hits


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_to_a_restriction_wherever_it_is_given(release, method):
    english = set(release.sql("SELECT document_id FROM documents WHERE language = 'en'").to_pandas()["document_id"])
    restricted = [
        release.search(QUESTION, method=method, where={"language": "en"}),
        release.searcher(method, where={"language": "en"})(QUESTION),
        release.searcher(method, sql="language = 'en'")(QUESTION),
        release.ask(QUESTION, method=method, where={"language": "en"}),
        release.ask(QUESTION, method=method, sql="language = 'en'"),
    ]

    for found in restricted:
        assert found.hits
        assert {hit.document_id for hit in found.hits} <= english


def test_a_restriction_given_with_a_search_comes_on_top_of_the_bound_one(release):
    find = release.searcher(sql="language = 'en'")
    chinese = "SELECT document_id FROM documents WHERE language = 'zh'"

    assert find(QUESTION).hits
    assert find(QUESTION, sql=chinese).hits == ()


def test_a_report_keeps_to_where(release):
    report = release.report(where={"language": "zh"}, options={"title": "中文"})

    documents = set(report.to_arrow("report_events")["document_id"].to_pylist())
    assert documents <= set(
        release.sql("SELECT document_id FROM documents WHERE language = 'zh'").to_pandas().iloc[:, 0]
    )
    with pytest.raises(QueryError, match="did you mean 'report_events'"):
        report.to_arrow("report_event")


def test_releases_are_listed_with_the_current_one(demo, demo_home):
    (listed,) = list_releases()
    with open_release() as release:
        assert (listed.release_id, listed.path) == (release.release_id, release.path)
    assert (listed.is_current, listed.fault, listed.counts["documents"]) == (True, "", 23)
    assert list_releases(demo_home / "nothing") == ()
