"""The way through the tiers agrees with recorded runs under the corrected rules."""

import json
import re

import numpy as np
import pytest

from sag_retrieval.core.errors import QueryError
from sag_retrieval.models.protocols import Reply
from sag_retrieval.search.method import best_rows
from sag_retrieval.search.methods.tiers.source import cosines
from sag_retrieval.search.methods.tiers.workflow import (
    Decision,
    TierOptions,
    TiersOptions,
    question_text,
    read_decision,
    retrieve,
)
from tests.support.golden import recorded

CASES = recorded("memu_retrieve")
NAMES = {"category": "categories", "item": "items", "resource": "resources"}


def passes(row, where):
    for name, value in (where or {}).items():
        field, _, operator = name.partition("__")
        if value is not None and (row.get(field) not in value if operator == "in" else row.get(field) != value):
            return False
    return True


class RecordedSource:
    """The tables of a recorded run."""

    def __init__(self, case):
        self.case = case
        self.tables = {tier: [row for row in case[name] if passes(row, case["where"])] for tier, name in NAMES.items()}

    def nearest(self, tier, text, k):
        vector = np.array(self.case["embeddings"][text])
        rows = [(row["id"], self._vector(tier, row)) for row in self.tables[tier]]
        return cosine_topk(vector, [(row, v) for row, v in rows if v is not None], k)

    def _vector(self, tier, row):
        if tier != "category":
            return row["embedding"] if tier == "item" or row["caption"] else None
        return self.case["embeddings"][row["summary"]] if row["summary"] else None

    def members(self, tier, parents):
        if tier == "category" or parents is None:
            return [row["id"] for row in self.tables[tier]]
        if tier == "item":
            below = {r["item_id"] for r in self.case["relations"] if r["category_id"] in parents}
            return [row["id"] for row in self.tables["item"] if row["id"] in below]
        above = {row["resource_id"] for row in self.tables["item"] if row["id"] in parents}
        return [row["id"] for row in self.tables["resource"] if row["id"] in above]

    def texts(self, tier, ids):
        return list(ids)

    def rows(self, tier, ids):
        by_id = {row["id"]: row for row in self.tables[tier]}
        return [{k: v for k, v in by_id[row].items() if k != "embedding"} for row in ids]


def cosine_topk(query, corpus, k):
    if not corpus:
        return []
    scores = cosines(query, np.array([vector for _, vector in corpus], np.float32))
    return [(corpus[place][0], float(scores[place])) for place in best_rows(scores, k, np.ones(len(corpus), bool))]


class RecordedChat:
    """The replies of a recorded run, in order; a reply that is no JSON chose nothing."""

    model_id = "recorded"
    ranked = ("rank_categories", "rank_items", "rank_resources")

    def __init__(self, replies):
        self.decisions = list(replies["decide"])
        self.replies = replies
        self.calls = []

    def ask(self, request):
        if request.answer is Decision:
            self.calls.append("decide")
            return Reply(Decision.model_validate({"decision": self.decisions.pop(0)}))
        listed = re.findall(r"^(\d+)\. (\S+)$", request.prompt, re.MULTILINE)
        tier = {"c": 0, "i": 1, "r": 2}[listed[0][1][0]]
        self.calls.append(self.ranked[tier])
        try:
            chosen = json.loads(self.replies[self.ranked[tier]][0])[list(NAMES.values())[tier]]
        except json.JSONDecodeError:
            chosen = []
        number = {row: int(n) for n, row in listed}
        return Reply(request.answer.model_validate({"entries": [number.get(row, 999) for row in chosen]}))


def options_of(config, **given):
    tiers = {tier: TierOptions(**config[tier]) for tier in NAMES}
    named = {name: config[name] for name in ("method", "route_intention", "sufficiency_check")}
    return TiersOptions(**named, **tiers, **given)


@pytest.mark.parametrize("case", CASES["workflow"], ids=[c["id"] for c in CASES["workflow"]])
def test_the_response_is_that_of_the_corrected_flow(case):
    chat, source = RecordedChat(case["llm_replies"]), RecordedSource(case)

    found = retrieve(case["queries"], source, options_of(case["config"], widen=False), chat=chat)

    wanted = case["corrected_response"]
    for name in ("needs_retrieval", "original_query", "rewritten_query", "next_step_query"):
        assert getattr(found, name) == wanted[name], name
    for tier, name in NAMES.items():
        rows = found.rows(tier)
        assert [row["id"] for row in rows] == [row for row, _ in wanted[name]], name
        scores = [score for _, score in wanted[name]]
        assert [row.get("score") for row in rows] == pytest.approx(scores, abs=1e-6), name
        assert not any("embedding" in row for row in rows)
    assert chat.calls == [c for c in case["corrected_llm_calls"] if c in chat.calls or c == "decide"]


@pytest.mark.parametrize("case", CASES["decision"], ids=str)
def test_a_decision_is_read_from_any_words(case):
    assert read_decision(case["reply"]) == (case["decision"], case["rewritten"])


@pytest.mark.parametrize("case", CASES["query_text"], ids=str)
def test_a_question_is_read_from_any_known_form(case):
    if "error" in case or not case["text"]:  # the recorded flow lets one kind of empty text pass
        with pytest.raises(QueryError if case.get("error") != "TypeError" else TypeError):
            question_text(case["query"])
    else:
        assert question_text(case["query"]) == case["text"]


def test_the_nearest_rows_are_those_recorded():
    for case in CASES["cosine_topk"]:
        corpus = [(row, vector) for row, vector in case["corpus"] if vector is not None]
        found = cosine_topk(case["query"], corpus, case["k"])
        assert [row for row, _ in found] == [row for row, _ in case["hits"]], case
        assert [s for _, s in found] == pytest.approx([s for _, s in case["hits"]], abs=1e-6), case
