import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.language.sentences import one_line, sentence_spans, sentences

TEXTS = st.text(
    alphabet=st.sampled_from("aB 1.。！？!?…；;：,，\n\t\"'”」（）()《》|-#* 中文句子Dr"), max_size=120
) | st.text(max_size=80)


@given(TEXTS)
def test_spans_are_trimmed_ordered_and_do_not_overlap(text):
    spans = sentence_spans(text)

    assert all(start < end and text[start:end] == text[start:end].strip() for start, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


@given(TEXTS)
def test_sentences_cover_everything_that_is_not_white_space(text):
    spans = sentence_spans(text)

    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mr. Jones at 5 p.m. on Friday.",
        "The U.S. Senate passed it, e.g. with 3.5 million votes.",
        "J. K. Rowling wrote it in Vol. 2, p. 14, cf. Fig. 3 of the report.",
        "He came from St. Louis vs. the odds, i.e. by bus.",
        "Acme Inc. and Beta Ltd. merged in Jan. 2020.",
        "“真的吗？”，他问。",
        "他在看《你好！李焕英》和《谁知道？》两部电影。",
        "价格是3.5元（约合0.5美元。含税）左右。",
        "What? no, he said it softly.",
    ],
)
def test_marks_that_do_not_end_a_sentence(text):
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ('"Go!" she cried. "Now?"', ['"Go!" she cried.', '"Now?"']),
        ("他来了。她走了！谁知道？", ["他来了。", "她走了！", "谁知道？"]),
        ("他说：“走吧。”然后离开了。", ["他说：“走吧。”", "然后离开了。"]),
        ("第一；第二。", ["第一；", "第二。"]),
        ("他想……也许不会。", ["他想……", "也许不会。"]),
        ("We moved to the U.S. The house was old.", ["We moved to the U.S.", "The house was old."]),
        ("It costs 3.5. Then it rose.", ["It costs 3.5.", "Then it rose."]),
        ("他走了.她来了.", ["他走了.", "她来了."]),
    ],
)
def test_marks_that_end_a_sentence(text, expected):
    assert sentences(text) == expected


def test_headings_items_rows_and_paragraphs_end_a_sentence():
    text = "# Title\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nShort line\nAnother"

    found = sentences(text)

    assert found == ["# Title", "- one", "- two", "| a | b |", "|---|---|", "| 1 | 2 |", "Short line", "Another"]


def test_a_wrapped_line_goes_on_in_the_next_one():
    text = "The committee that met in the old town hall on Monday decided\nnothing at all. It will meet again."

    assert len(sentences(text)) == 2


def test_wrapped_chinese_goes_on_and_loses_its_break():
    text = "有关此方面及其他风险的进一步资料均包括在本公司于香港联合交易所有限\n公司网站发布的公告内。"

    assert sentences(text) == [text]
    assert "有限公司网站" in one_line(text)


@pytest.mark.parametrize("piece", ["a", "他说. ", "（", '"', ".", "…", "《", "# x\n", "| a |\n", "Dr. ", "``` \n"])
def test_a_long_line_of_anything_is_read_at_once(piece):
    text = piece * 50_000

    spans = sentence_spans(text)

    assert sum(end - start for start, end in spans) <= len(text)


def test_brackets_of_their_own_are_sentences():
    assert sentences("(He left. She stayed.) Then night fell.") == ["(He left. She stayed.)", "Then night fell."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("서울은 수도이다. 인구는 많다!", ["서울은 수도이다.", "인구는 많다!"]),
        ("هل اشترى الخبز؟ نعم.", ["هل اشترى الخبز؟", "نعم."]),
        ("राम घर गया। क्या हुआ?", ["राम घर गया।", "क्या हुआ?"]),
        (
            "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย มีประชากรมากกว่าสิบล้านคน อากาศร้อนตลอดทั้งปี",
            ["กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย มีประชากรมากกว่าสิบล้านคน", "อากาศร้อนตลอดทั้งปี"],
        ),
    ],
)
def test_sentences_of_other_scripts_end(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三月九日。“海风”轮在港外打捞。", ["三月九日。", "“海风”轮在港外打捞。"]),
        ("她问：“走吗？”“走！”船开了。", ["她问：“走吗？”", "“走！”", "船开了。"]),
        ("到了……“海风”轮靠岸。", ["到了……", "“海风”轮靠岸。"]),
        ("到了。“《潮汐表》续编”出版。", ["到了。", "“《潮汐表》续编”出版。"]),
        ('到了。"海风"轮靠岸。', ["到了。", '"海风"轮靠岸。']),
        ('"到了。真好。"她说。"海风"轮靠岸。', ['"到了。', '真好。"', "她说。", '"海风"轮靠岸。']),
        ("到了。'海风'轮靠岸。", ["到了。", "'海风'轮靠岸。"]),
        ("到了。「海风」轮靠岸。『海风』轮。《潮汐表》。（一）续编。", None),
        ("„Wir gehen. Wir kommen.“ Sie sagte es.", ["„Wir gehen.", "Wir kommen.“", "Sie sagte es."]),
    ],
)
def test_a_quotation_mark_stays_with_what_it_opens(text, expected):
    found = sentences(text)

    assert found == (expected or ["到了。", "「海风」轮靠岸。", "『海风』轮。", "《潮汐表》。", "（一）续编。"])
