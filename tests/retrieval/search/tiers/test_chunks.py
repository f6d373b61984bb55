"""From the rows of the tiers to chunks."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sag_retrieval.models.protocols import Reply
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.tiers.method import tiers_method
from sag_retrieval.search.methods.tiers.workflow import Chosen, TierOptions, TiersOptions
from tests.support.small_release import build_index

ONE = TiersOptions(item=TierOptions(top_k=1), resource=TierOptions(enabled=False))
QUESTION = Query("Who owns Bolt Labs?", top_k=20)


class Chat:
    """Decides as told, or chooses the first two entries."""

    model_id = "scripted"

    def __init__(self, decision):
        self.decision = decision

    def ask(self, request):
        told = {"entries": [1, 2]} if request.answer is Chosen else {"decision": self.decision, "rewritten_query": ""}
        return Reply(request.answer.model_validate(told))


@pytest.fixture
def index(tmp_path):
    return build_index(tmp_path / "arrays")


def write_communities(home, members):
    home.mkdir(exist_ok=True)
    rows = [
        {"community_id": name, "title": name, "summary": name, "level": 0, "size": len(events)}
        for name, events in members.items()
    ]
    pairs = [{"community_id": name, "event_id": event} for name, events in members.items() for event in events]
    pq.write_table(pa.Table.from_pylist(pairs), home / "community_events.parquet")
    pq.write_table(pa.Table.from_pylist(rows), home / "communities.parquet")


def parts_of(index, ranking, name):
    ids = index.rows["chunks"]["chunk_id"]
    return {ids[int(row)].as_py(): float(part) for row, part in zip(ranking.chunks, ranking.parts[name], strict=True)}


def test_a_chunk_gets_three_tenths_of_the_best_hit_that_shares_its_community(index, tmp_path):
    write_communities(tmp_path / "home", {"bolt": ["d0.0.e", "d2.0.e"], "rain": ["d5.0.e"]})

    ranking = tiers_method(ONE, home=tmp_path / "home")(index, QUESTION)

    item, category = (parts_of(index, ranking, name) for name in ("item", "category"))
    best = item["d0.0"]
    assert {chunk for chunk, score in item.items() if score > 0} == {"d0.0"}
    assert {c: s for c, s in category.items() if s > 0} == pytest.approx({"d0.0": 0.3 * best, "d2.0": 0.3 * best})


def test_communities_made_after_the_first_search_count_in_the_next(index, tmp_path):
    method = tiers_method(ONE, home=tmp_path / "home")
    before = method(index, QUESTION)

    write_communities(tmp_path / "home", {"bolt": ["d0.0.e", "d2.0.e"]})
    after = method(index, QUESTION)
    write_communities(tmp_path / "home", {"other": ["d0.0.e", "d4.0.e"]})
    os.utime(tmp_path / "home" / "communities.parquet", ns=(1, 1))
    again = method(index, QUESTION)

    lifted = [{c for c, s in parts_of(index, found, "category").items() if s > 0} for found in (before, after, again)]
    assert lifted == [set(), {"d0.0", "d2.0"}, {"d0.0", "d4.0"}]


def test_where_the_categories_are_enough_they_and_the_text_rank_the_chunks(index, tmp_path):
    write_communities(tmp_path / "home", {"Weather rain harbour": ["d5.0.e", "d2.0.e"]})
    options = TiersOptions(route_intention=False)

    ranking = tiers_method(options, home=tmp_path / "home", chat=Chat("NO_RETRIEVE"))(
        index, Query("rain on the harbour", top_k=20)
    )

    assert ranking.trace["stopped_at"] == "sufficiency_after_category"
    assert index.rows["chunks"]["chunk_id"][int(ranking.chunks[0])].as_py() == "d5.0"
    assert parts_of(index, ranking, "category")["d5.0"] > 0
    assert parts_of(index, ranking, "text")["d5.0"] == pytest.approx(0.5)


def test_events_chosen_by_a_model_count_as_high_as_cosines(index):
    options = TiersOptions(method="llm", route_intention=False, sufficiency_check=False)

    ranking = tiers_method(options, chat=Chat("RETRIEVE"))(index, QUESTION)

    assert sorted(set(np.round(ranking.parts["item"], 6)), reverse=True)[:2] == [0.5, 0.375]
