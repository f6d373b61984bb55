import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_pipeline.extract.summaries import SummaryOptions, important_sentences, summarise
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.records import Document
from sag_retrieval.language.sentences import SumyTokenizer

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

    summary = summarise(document_of(sentences, language), SummaryOptions(window=50))

    assert 0 < len(summary.summary) <= 500
    assert summary == summarise(document_of(sentences, language), SummaryOptions(window=50))


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


@pytest.mark.parametrize("options", [{"sentence_count": 0}, {"max_characters": 0}, {"window": 3}])
def test_options_that_leave_nothing_are_refused(options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        SummaryOptions(**options)


@pytest.mark.slow
@given(
    st.lists(st.lists(st.sampled_from("tide boat moon strait the of noon".split()), min_size=3), min_size=4, max_size=9)
)
@settings(max_examples=60)
def test_sentences_are_rated_by_luhns_method_as_sumy_does(words):
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.summarizers.luhn import LuhnSummarizer

    class Luhn(LuhnSummarizer):
        def stem_word(self, word):
            return word

    texts = [f"{' '.join(each)}." for each in words]
    parts = [Sentence(text, SumyTokenizer(60, shortest_word=2)) for text in texts]
    chosen = {id(part) for part in Luhn()(ObjectDocumentModel([Paragraph(parts)]), 2)}
    document = Document("d", "s", "", "\n\n".join(texts), "en")

    assert important_sentences(document, count=2) == [
        text for text, part in zip(texts, parts, strict=True) if id(part) in chosen
    ]
