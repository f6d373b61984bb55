import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sag_retrieval.core.errors import QueryError, SettingsError
from sag_retrieval.release.arrays import Allowed
from sag_retrieval.search.expand import expand, propagate, prune, seed_keys
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.method import Query, parse_query
from sag_retrieval.search.options import SAG, SAG_LITERAL, SearchOptions
from sag_retrieval.search.registry import METHODS, method_entry
from sag_retrieval.search.sag import search

OURS = ["sag", "sag-literal", "sag-events", "dense", "bm25", "bridge"]
QUESTION = "In which state did the singer of Hello Love die?"


def titles(index, ranking):
    names = index.rows["documents"]["title"]
    return [names[int(index.arrays.chunk_document[row])].as_py() for row in ranking.chunks]


def allow(index, chunks):
    flags = np.zeros(index.arrays.chunk_count, bool)
    flags[list(chunks)] = True
    events = flags[index.arrays.event_chunk]
    keys = np.zeros(index.arrays.key_count, bool)
    for chunk in chunks:
        keys[index.arrays.chunk_keys.row(chunk)] = True
    return Allowed(flags, events, keys)


@pytest.mark.parametrize(
    ("question", "way"),
    [
        (QUESTION, ["Hello Love", "Hank Snow"]),
        ("云南农业公司收购的公司由谁创立？", ["云南农业公司", "昆明种子公司"]),
    ],
)
def test_a_question_over_two_documents_finds_both(corpus, question, way):
    assert sorted(titles(corpus, search(corpus, Query(question, top_k=2), SAG))) == sorted(way)


@pytest.mark.parametrize("method", OURS)
def test_scores_descend_and_rows_are_distinct(corpus, method):
    found = method_entry(method).make()(corpus, Query(QUESTION))

    assert np.all(np.diff(found.scores) <= 0)
    assert len(set(found.chunks.tolist())) == len(found.chunks) > 0
    assert all(len(part) == len(found.chunks) for part in found.parts.values())


@pytest.mark.parametrize("method", OURS)
def test_a_restriction_holds_before_ranking(corpus, method):
    allowed = allow(corpus, [2, 3, 6])

    found = method_entry(method).make()(corpus, Query("Tennessee", top_k=10, allowed=allowed))

    assert sorted(found.chunks.tolist()) == [2, 3, 6]


@pytest.mark.parametrize("method", OURS)
def test_a_restriction_to_nothing_finds_nothing(corpus, method):
    assert len(method_entry(method).make()(corpus, Query("Tennessee", allowed=allow(corpus, []))).chunks) == 0


def test_keys_that_are_not_allowed_take_no_part(corpus):
    found = search(corpus, Query(QUESTION, allowed=allow(corpus, [2, 3])), SAG)

    assert {key.row for key in found.keys} <= set(np.flatnonzero(allow(corpus, [2, 3]).keys).tolist())


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_refused(corpus, method, query):
    with pytest.raises(QueryError, match="empty"):
        method_entry(method).make()(corpus, Query(query))


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("query", ["？", "zzz qqq", "🙂", "the of and"])
def test_a_query_that_says_nothing_known_still_has_an_answer(corpus, method, query):
    method_entry(method).make()(corpus, Query(query))


def test_given_keys_alone_are_a_query(corpus):
    assert "Tennessee" in titles(corpus, search(corpus, Query("", keys=("Tennessee",), top_k=2), SAG))


def test_a_given_key_is_a_seed_with_similarity_one_however_it_is_spelt(corpus):
    reading = parse_query(corpus, Query("Who?", keys=("TENNESSEE ",)))

    seeds, reasons = seed_keys(corpus, reading, SAG)

    names = corpus.rows["keys"]["name"]
    best = int(seeds.rows[np.argmax(seeds.weights)])
    assert names[best].as_py() == "tennessee"
    assert reasons[best].startswith("given")


def test_literally_given_keys_take_the_place_of_the_query_and_by_default_they_join_it(corpus):
    reading = parse_query(corpus, Query("Green Tea", keys=("Tennessee",)))
    tea = corpus.rows["keys"]["name"].to_pylist().index("green tea")

    assert tea in seed_keys(corpus, reading, SAG)[1]
    assert "like the query" not in seed_keys(corpus, reading, SAG_LITERAL)[1].values()


def test_one_hop_is_stage_one_alone_and_more_hops_number_what_they_gain(corpus):
    reading = parse_query(corpus, Query(QUESTION))
    options = replace(SAG, hops=4)

    stages = propagate(corpus, reading, expand(corpus, reading, options).keys, options)

    assert len(propagate(corpus, reading, stages[0], SAG)) == 1
    assert 1 < len(stages) <= 4
    for number, keys in enumerate(stages, start=1):
        assert keys.weights.max() == pytest.approx(1)
        assert keys.hops.max() <= number


def test_hops_end_when_they_gain_too_little(corpus):
    reading = parse_query(corpus, Query(QUESTION))
    options = replace(SAG, hops=4, least_gain=100)

    assert len(propagate(corpus, reading, expand(corpus, reading, options).keys, options)) == 2


def test_pruning_keeps_the_heaviest_and_those_above_the_threshold():
    rows, weights = np.array([1, 2, 3, 4], np.int32), np.array([0.2, 1.0, 0.0, 0.5])

    assert prune(rows, weights, replace(SAG, final_count=2))[0].tolist() == [2, 4]
    assert prune(rows, weights, replace(SAG, final_threshold=0.4))[0].tolist() == [2, 4]
    assert prune(rows, weights, SAG)[0].tolist() == [1, 2, 4]


def test_merged_event_vectors_may_find_further_events(corpus):
    reading = parse_query(corpus, Query("Hello Love"))
    plain = expand(corpus, reading, replace(SAG, event_count=1))
    merged = expand(corpus, reading, replace(SAG, event_count=1, event_merges=2))

    assert set(plain.events.tolist()) <= set(merged.events.tolist())


def test_the_trace_tells_the_way_to_each_hit_and_how_many_gold_documents_were_alive(corpus):
    query = Query(QUESTION, top_k=2, explain=True, gold_documents=("d00", "d01"))

    trace = search(corpus, query, SAG).trace

    assert any(seed["value"] == "Hello Love" and seed["reason"] == "named: hello love" for seed in trace["seeds"])
    ways = {way["chunk_id"]: way for way in trace["hits"]}
    assert ways["c01.00"]["bridge"]["over"]["value"] == "Hank Snow"
    assert ways["c00.00"]["seed_key"]["value"] == "Hello Love"
    assert {stage["stage"]: stage["gold_documents"] for stage in trace["stages"]}["hits"] == 2
    assert json.loads(json.dumps(trace)) == trace


def test_without_being_asked_a_search_keeps_no_trace(corpus):
    assert search(corpus, Query(QUESTION), SAG).trace == {}


def test_a_result_has_the_names_of_the_contract_and_the_texts_of_its_chunks(corpus):
    query = Query("Hello Love", top_k=2)

    result = build_result(corpus, query, search(corpus, query, SAG), release="r1", method="sag").to_dict()

    assert {"query", "release", "method", "hits", "keys", "seconds"} == set(result)
    first = result["hits"][0]
    assert {"rank", "score", "chunk_id", "document_id", "title", "text", "events", "keys"} <= set(first)
    assert (first["rank"], first["document_id"], first["title"]) == (1, "d00", "Hello Love")
    assert first["events"][0]["content"] == "Hello Love is a song recorded by Hank Snow."
    assert {key["value"] for key in first["keys"]} == {"Hello Love", "Hank Snow"}
    assert {"key_id", "type", "value", "weight", "hop"} <= set(result["keys"][0])
    assert set(result["seconds"]) == {"read", "expand", "hop", "rank"}


def test_json_keeps_chinese_as_it_is(corpus):
    query = Query("张伟", top_k=1)

    assert (
        "张伟毕业于北京大学"
        in build_result(corpus, query, search(corpus, query, SAG), release="r", method="sag").to_json()
    )


def test_an_unknown_method_is_refused_with_the_names_there_are():
    with pytest.raises(QueryError, match="sag-literal"):
        method_entry("magic").make()


def test_the_methods_are_those_of_the_contract():
    assert set(METHODS) == {
        "sag", "sag-literal", "sag-events", "dense", "bm25", "hybrid", "bridge", "think-on-graph",
        "think-on-graph-literal", "tiers",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [("hops", 5), ("hops", 0), ("final_threshold", 1.5), ("key_count", 0)])
def test_an_option_out_of_bounds_is_refused_with_its_bounds(name, value):
    with pytest.raises(SettingsError, match=f"{name}={value}"):
        SearchOptions(**{name: value})


@pytest.mark.parametrize("method", OURS)
def test_the_same_query_has_the_same_answer_in_many_threads(long_corpus, method):
    find = method_entry(method).make()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: find(long_corpus, Query("What did Birch Bank sell?")), range(8)))

    assert len({(tuple(each.chunks.tolist()), tuple(each.scores.tolist())) for each in found}) == 1


SCRIPT = """
import sys
from pathlib import Path
from sag_retrieval.models.hashing import HashingEmbedder, fit
embedder = HashingEmbedder(fit(["green tea", "红茶 和 绿茶"]))
print(embedder.fingerprint, embedder.embed(["green 绿茶 tea"]).data.tolist())
"""


@pytest.mark.slow
def test_vectors_do_not_depend_on_the_hash_seed():
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(said) == 1


def test_long_documents_are_searched_chunk_by_chunk(long_corpus):
    found = search(long_corpus, Query("Whom did Cedar Clinic hire?", top_k=1), SAG)

    assert long_corpus.rows["chunks"]["text"][int(found.chunks[0])].as_py() == "Cedar Clinic hired Ann Brook in 2021."


def test_the_parts_of_a_hit_make_its_score(corpus):
    found = search(corpus, Query("Is Hank Snow older than 云南农业公司?", top_k=8), SAG)

    joined = found.parts["pagerank"] + found.parts["text"]
    bridged = np.sqrt(joined / joined.max() + found.parts["named"]) + found.parts["bridge"]
    assert found.scores == pytest.approx(bridged / bridged.max() + found.parts["coverage"])
    assert found.parts["named"].max() > 0
    assert found.parts["coverage"].min() >= 0


def test_the_trace_tells_how_far_the_walk_was_trusted(corpus):
    named = search(corpus, Query("Where did Hank Snow die?", explain=True), SAG).trace["trust"]
    vague = search(corpus, Query("Where did he die?", explain=True), SAG).trace["trust"]

    assert 0 <= vague < named <= 1


@pytest.mark.parametrize("hops", [0, 5])
def test_hops_beyond_four_are_refused(hops):
    with pytest.raises(SettingsError, match="1 to 4"):
        method_entry("sag-events").make({"hops": hops})


@pytest.mark.parametrize("method", ["bm25", "bridge", "sag"])
def test_a_document_is_found_by_its_id(corpus, method):
    found = method_entry(method).make()(corpus, Query("d03 tea"))

    assert titles(corpus, found)[0] == "Green Tea"
