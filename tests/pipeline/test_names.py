import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.rules import names as module
from sag_pipeline.extract.rules.name_types import name_type
from sag_pipeline.extract.rules.names import NameIndex, longest_only, outside
from sag_retrieval.language.mentions import Mention

MENTIONS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda p: Mention(p[0], p[0] + p[1], "entity", "x")),
    max_size=12,
)


def names(text):
    return module.names(text, module.named_by_rules(text, "en"))


def found(text):
    return {(mention.key_type, mention.value) for mention in names(text)[0]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("样品寄给了陈思远，他周三在。", {("person", "陈思远")}),
        ("李卫东与赵雅琴签了租约。", {("person", "李卫东"), ("person", "赵雅琴")}),
        (
            "东岸银行关于向海澜能源有限公司放款的批复",
            {("organisation", "海澜能源有限公司"), ("organisation", "东岸银行")},
        ),
        ("创始人沈若溪毕业于澜湾大学。", {("person", "沈若溪"), ("organisation", "澜湾大学")}),
        ("合同由水务局副局长梁仲和签字。", {("person", "梁仲和")}),
        ("姓名：喻某某\n职业：教师", {("person", "喻某某")}),
        ("船长罗汉声带领38名船员出海。", {("person", "罗汉声")}),
        ("记录人：何启航\n", {("person", "何启航")}),
        ("公司收购嘉悦传媒有限公司。", {("organisation", "嘉悦传媒有限公司")}),
        ("他出生于青禾河边的石渡镇。", {("place", "青禾河"), ("place", "石渡镇")}),
        ("水轮机在鹿鸣海峡下水，总部设在澜湾市。", {("place", "鹿鸣海峡"), ("place", "澜湾市")}),
        ("他读过《近岸潮流动力学》。", {("work", "近岸潮流动力学")}),
        ("台风“木兰”登陆。", {("entity", "木兰")}),
        ("该项目的潮鸣三号使用 Kestrel-7 传感器。", {("product", "潮鸣三号"), ("product", "Kestrel-7")}),
        ("卡尔·马克思写了信。", {("person", "卡尔·马克思")}),
        (
            "He met Margaret Hale of Northbridge Instruments Ltd. in Alder Bay.",
            {("person", "Margaret Hale"), ("organisation", "Northbridge Instruments Ltd"), ("place", "Alder Bay")},
        ),
        ("The director is He Qihang, born in New York.", {("person", "He Qihang"), ("place", "New York")}),
        (
            "It was sold by the University of North Texas to Paris.",
            {("organisation", "University of North Texas"), ("place", "Paris")},
        ),
        ("The code of 502ai runs on GPT-4.", {("entity", "502ai"), ("product", "GPT-4")}),
        ("In the U.S. it failed.", {("place", "United States")}),
        ("City: Tallinn\nPort: Nordlys", {("entity", "Tallinn"), ("entity", "Nordlys")}),
        ("Maurice succeeded his father William the Silent in 1585.", {("entity", "William the Silent")}),
        ("Unlike U.S. states it grew. In the U.S. it failed.", {("place", "United States")}),
        ("2025年3月起任北桥市市长。", {("place", "北桥市")}),
        ("鱼群游进青禾河。", {("place", "青禾河")}),
        ("安德鲁·怀斯到场。", {("person", "安德鲁·怀斯")}),
        ("Unlike the Norwegians, Mary of the Weavers won.", {("entity", "Norwegians")}),
    ],
)
def test_names_by_their_form_and_context(text, expected):
    assert found(text) >= expected


@pytest.mark.parametrize(
    "text",
    [
        "However, the tide turned. Nothing happened. Meanwhile, he slept.",
        "On Monday in March they met.",
        "I'll go, and I've said so.",
        "AN ENTIRE LINE OF CAPITALS",
        "进一步提高公司的盈利能力，确保公司发展。",
        "患者高热，医师查房后陈述病情。",
        "这座城市的地区和道路都在股市上市。",
        "他说：“走吧，好的。”",
        "本协议称为“贵公司”，即“本公司”。",
        "Abdomen: Soft, non-tender\nHealth: Generally good\nReply: Absolutely! See you.",
        "他在二零一号公路上。",
        "适时戴眼镜，当地的博罗米尼也来了。",
    ],
)
def test_what_is_no_name(text):
    assert found(text) == set()


def test_a_name_recognised_once_counts_everywhere():
    text = "董事长沈若溪到场。沈若溪没有说话，大家看着沈若溪。"

    assert [mention.value for mention in names(text)[0]].count("沈若溪") == 3


@pytest.mark.parametrize(
    ("text", "term", "name"),
    [
        ("蓝湾海运有限公司（以下简称“甲方”）应付款。甲方可取消。", "甲方", "蓝湾海运有限公司"),
        ('Lumen Optics Ltd ("the Client") shall pay. The Client may cancel.', "Client", "Lumen Optics Ltd"),
        ("Lumen Optics Ltd (the “Supplier”) delivers. The Supplier pays freight.", "Supplier", "Lumen Optics Ltd"),
        ("蓝湾海运有限公司（简称“蓝湾海运”）成立。蓝湾海运在青岛。", "蓝湾海运", "蓝湾海运"),
    ],
    ids=["zh", "en", "before the marks", "a name of its own"],
)
def test_a_defined_term_stands_for_the_name_before_it(text, term, name):
    last = text.rindex(term)
    assert {mention.value for mention in names(text)[0] if mention.start <= last < mention.end} == {name}


def test_a_surname_alone_speaks_of_the_one_full_name():
    text = "Alice Mercer arrived first. Mercer sat down. Then Alice left."

    assert {mention.value for mention in names(text)[0]} == {"Alice Mercer"}


def test_a_surname_of_two_persons_stays_open():
    text = "Bob Cratchit and Peter Cratchit ate. The Cratchit house was small."

    assert ("entity", "Cratchit") in found(text)


def test_a_first_word_is_no_name_unless_it_is_one_elsewhere():
    assert found("Seals leak. Rings break.") == set()
    assert ("person", "Tom Reed") in found("Reed left. Later Tom Reed came back.")


def test_names_do_not_cross_the_lines_of_a_form():
    assert "Taylor Gender" not in {value for _, value in found("Name: J. Taylor\nGender: Female\nAge: 87")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Lewis & Associates", "organisation"),
        ("Bank of Lanwan", "organisation"),
        ("Hudson River", "place"),
        ("Lake Como", "place"),
        ("Shen Ruoxi", "person"),
        ("J. Hall", "person"),
        ("Kestrel-7", "product"),
        ("302.AI", "entity"),
        ("Nature Physics", "entity"),
        ("Jordan", "entity"),
        ("Jordan Brand", "entity"),
    ],
)
def test_the_type_of_a_name_follows_from_its_form_alone(name, expected):
    assert name_type(name) == expected


@given(st.text(alphabet="Ab c沈若溪任公司《》“”2.", max_size=60))
def test_names_stand_in_order_in_the_text_and_do_not_overlap(text):
    placed = names(text)[0]

    assert all(0 <= m.start < m.end <= len(text) for m in placed)
    assert all(a.end <= b.start for a, b in itertools.pairwise(placed))


@given(
    st.lists(st.text(alphabet="abAB 中文字", min_size=1, max_size=4).map(str.strip).filter(bool), max_size=6),
    st.text(alphabet="abAB 中文字", max_size=40),
)
def test_an_index_finds_exactly_the_names_that_stand_alone(known, text):
    index = NameIndex({name: ("entity", name) for name in known})

    for mention in index.mentions(text):
        assert text[mention.start : mention.end] == mention.value
        assert mention.value in known


def test_an_index_prefers_the_longest_name_and_whole_words():
    index = NameIndex({name: ("entity", name) for name in ("New York", "New York City", "York", "苹果", "苹果公司")})

    assert [m.value for m in longest_only(index.mentions("New York City, Yorkshire, 苹果公司"))] == [
        "New York City",
        "苹果公司",
    ]


@given(MENTIONS)
def test_of_overlapping_mentions_a_longest_one_stays(mentions):
    kept = longest_only(mentions)

    assert all(a.end <= b.start for a, b in itertools.pairwise(kept))
    for lost in set(mentions) - set(kept):
        others = [m for m in mentions if m != lost and m.start < lost.end and lost.start < m.end]
        assert max(m.end - m.start for m in others) >= lost.end - lost.start


@given(MENTIONS, MENTIONS)
def test_outside_keeps_what_overlaps_none_of_the_others(mentions, others):
    kept = outside(mentions, others)
    taken = longest_only(others)

    assert all(not (k.start < t.end and t.start < k.end) for k in kept for t in taken)
    assert sorted(kept) == sorted(m for m in mentions if not any(m.start < t.end and t.start < m.end for t in taken))
