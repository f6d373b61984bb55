import json
import os
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_pipeline.extract.summaries import SummaryOptions, important_sentences, summarise, summary_request
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.records import Document
from sag_retrieval.language.central import CentralMethod, by_importance

SENTENCES = {
    "zh": [
        "潮鸣二号在鹿鸣海峡并网。",
        "十二台机组总功率六兆瓦。",
        "鹿鸣海峡的潮流每秒两米。",
        "邱阿海是一名渔民。",
        "灯潮节在秋天举行。",
    ],
    "en": [
        "The tide of the strait drives twelve turbines.",
        "Each turbine stands in the strait.",
        "A fisherman sold his boat.",
        "The tide turns at noon in the strait.",
    ],
}


def document_of(sentences, language):
    return Document("d", "s", "t", ("" if language == "zh" else " ").join(sentences), language)


@pytest.mark.parametrize("language", ["zh", "en"])
@settings(max_examples=20)
@given(data=st.data())
def test_a_summary_is_made_of_the_texts_own_sentences_in_order(language, data):
    sentences = data.draw(st.lists(st.sampled_from(SENTENCES[language]), unique=True))

    chosen = important_sentences(document_of(sentences, language))

    assert [sentence for sentence in sentences if sentence in chosen] == chosen
    assert len(chosen) == min(3, len(sentences))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_long_text_is_weighed_in_windows(language):
    sentences = [f"{sentence[:-1]} {number}{sentence[-1]}" for number in range(120) for sentence in SENTENCES[language]]

    summary = summarise(document_of(sentences, language))

    assert 0 < len(summary.summary) <= 500
    assert summary == summarise(document_of(sentences, language))


def test_headings_and_tables_are_weighed_only_where_nothing_else_is():
    table = Document("d", "s", "t", "# 标题\n\n| 公司 | 地点 |\n|---|---|\n| 海澜 | 澜湾 |", "zh")
    text = Document("d", "s", "t", "# 标题\n\n" + "".join(SENTENCES["zh"]) + "\n\n| 海澜 | 澜湾 |", "zh")

    assert "海澜 | 澜湾" in summarise(table).summary
    assert "|" not in summarise(text).summary


@pytest.mark.parametrize("text", ["", "...", "# 只有标题", "x" * 5000])
def test_any_text_has_a_summary_within_bounds(text):
    assert len(summarise(Document("d", "s", "t", text, "en")).summary) <= 500


def test_more_sentences_can_be_asked_for():
    document = document_of(SENTENCES["zh"], "zh")

    assert len(important_sentences(document, count=5)) == 5


@pytest.mark.parametrize("options", [{"sentence_count": 0}, {"max_characters": 0}])
def test_options_that_leave_nothing_are_refused(options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        SummaryOptions(**options)


METHODS = get_args(CentralMethod)
ALONE = """
import json, sys
from sag_retrieval.language.central import by_importance
print(json.dumps({method: by_importance(json.loads(sys.argv[1]), method) for method in sys.argv[2:]}))
loaded = {"nltk", "requests", "sklearn"} & set(sys.modules)
assert not loaded, loaded
from sumy.nlp.stemmers import Stemmer
assert Stemmer("english")("tides") == "tide"
"""


@pytest.mark.slow
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_method_orders_sentences_alike_in_each_process_and_loads_no_toolkit(language):
    texts = [f"{text[:-1]} {n}{text[-1]}" for n in range(4) for text in SENTENCES[language]]
    command = [sys.executable, "-W", "error", "-c", ALONE, json.dumps(texts), *METHODS]
    found = [
        json.loads(
            subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": seed}).stdout
        )
        for seed in ("1", "2")
    ]

    assert found[0] == found[1]
    assert all(sorted(rows) == list(range(len(texts))) for rows in found[0].values())
    assert len({tuple(rows) for rows in found[0].values()}) == len(METHODS)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(texts=st.lists(st.text(alphabet="ab 水木。.", max_size=6), max_size=5))
def test_every_method_orders_whatever_there_is(method, texts):
    assert sorted(by_importance(texts, method)) == list(range(len(texts)))


def test_a_summary_is_made_of_whole_sentences_and_says_none_twice():
    long = "The tide of the strait turns the mill by night and by day. " * 2
    document = Document("d", "s", "t", long + f"The mill {'of stone ' * 50}stands. The tide turns at noon.", "en")

    summary = summarise(document, SummaryOptions(max_characters=100)).summary

    assert summary == "The tide of the strait turns the mill by night and by day. The tide turns at noon."


@pytest.mark.parametrize(("count", "is_asked"), [(20, False), (21, True)])
def test_a_model_is_asked_about_documents_above_a_length(count, is_asked):
    document = Document("d", "s", "t", "The tide turns. "[:10] * (count // 10) + "x" * (count % 10), "en")

    assert (summary_request(document, SummaryOptions(model_above=20)) is not None) is is_asked
