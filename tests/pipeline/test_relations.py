"""Relations read from sentences of both languages, and attributes as properties of triples."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.rules.relations import derive_triples, places_of, sentence_relations
from sag_retrieval.core.records import TITLE, Event, EventKey, Key, make_id
from sag_retrieval.language.words import normal_name

ENGLISH = {
    "[Acme] bought [Beta] from [Gamma] and sold [Delta] to [Eps].": [
        "Acme bought Beta",
        "Acme bought_from Gamma",
        "Acme sold Delta",
        "Acme sold_to Eps",
    ],
    "[Acme], based in [Oslo], acquired [Beta] and [Gamma].": [
        "Acme based_in Oslo",
        "Acme acquired Beta",
        "Acme acquired Gamma",
    ],
    "[Anna] and [Bob] founded [Acme].": ["Anna founded Acme", "Bob founded Acme"],
    "[Anna Smith], who founded [Acme], leads [Beta].": ["Anna Smith founded Acme", "Anna Smith leads Beta"],
    "[Oslo] is the capital of [Norway].": ["Oslo capital_of Norway"],
    "[Jane], president of [Acme], met [Bob].": ["Jane president_of Acme", "Jane met Bob"],
    "[Acme]'s founder [Jane] resigned.": ["Jane founder_of Acme"],
    "[Acme] chairman [Jane] signed the deal with [Beta].": ["Jane chairman_of Acme", "Jane signed_deal_with Beta"],
    "[Heat] is a film directed by [Mann] and starring [Pacino].": ["Mann film_directed Heat", "Heat starring Pacino"],
    "[Acme] did not buy [Beta].": ["Acme not_buy Beta"],
    "[Ada] served as president of [Norway].": ["Ada served_as_president_of Norway"],
    "[Acme] shares rose after [Beta] bid for [Gamma].": ["Beta bid_for Gamma"],
    "[Kaltwerk] changed its account; [Farida] checked this by calling back.": [],
    "The plant of [Acme] that supplies [Beta] closed.": [],
}
CHINESE = {
    "[腾讯]收购了[永辉超市]。": ["腾讯 收购 永辉超市"],
    "[阿里巴巴]创始人[马云]担任[湖畔大学]校长。": ["马云 创始人 阿里巴巴", "马云 担任 湖畔大学"],
    "[马云]是[阿里巴巴]的创始人。": ["马云 创始人 阿里巴巴"],
    "[挪威]的首都是[奥斯陆]。": ["奥斯陆 首都 挪威"],
    "[华为]与[长安汽车]签署了战略合作协议。": [],
    "[张三]和[李四]创立了[甲公司]。": ["张三 创立 甲公司", "李四 创立 甲公司"],
    "[张三]毕业于[清华大学]，先后任职于[甲公司]和[乙公司]。": [
        "张三 毕业于 清华大学",
        "张三 任职于 甲公司",
        "张三 任职于 乙公司",
    ],
    "[甲公司]没有参与[乙公司]的收购。": ["甲公司 没有参与收购 乙公司"],
    "[华为公司]被列入[实体清单]。": ["华为公司 被列入 实体清单"],
    "[洛蒙]的食堂周五粉刷，钥匙由[沈玉兰]保管。": [],
}


def read(marked):
    content, names = "", []
    for part in re.split(r"(\[[^\]]+\])", marked):
        bare = part.strip("[]")
        if part.startswith("["):
            names.append((len(content), len(content) + len(bare), len(names)))
        content += bare
    texts = [content[start:end] for start, end, _ in names]
    return [f"{texts[head]} {relation} {texts[tail]}" for head, relation, tail in sentence_relations(content, names)]


@pytest.mark.parametrize(("sentence", "expected"), [*ENGLISH.items(), *CHINESE.items()])
def test_a_relation_is_the_verb_or_the_noun_that_links_two_names(sentence, expected):
    assert read(sentence) == expected


@pytest.mark.parametrize(
    ("passive", "active"),
    [
        ("[Acme] was bought by [Beta].", "[Beta] bought [Acme]."),
        ("[Acme] has been bought by [Beta].", "[Beta] has bought [Acme]."),
        ("[Acme], bought by [Beta], grew.", "[Beta] bought [Acme]."),
        ("[永辉]被[腾讯]收购。", "[腾讯]收购[永辉]。"),
        ("[阿里巴巴]由[马云]创立于1999年。", "[马云]创立[阿里巴巴]。"),
    ],
)
def test_a_passive_is_turned_round(passive, active):
    assert read(passive) == read(active) != []


def an_event(content):
    return Event("e1", "d1", "c1", 0, content, "A title")


def a_key(kind, value):
    return Key(make_id("k", kind, normal_name(value)), kind, value_string=value)


def derive(content, *keys, language="en"):
    links = [EventKey("d1", "e1", key) for key in keys]
    return derive_triples("d1", [an_event(content)], links, language)


def test_dates_and_amounts_are_properties_and_no_ends():
    keys = [a_key("organisation", "Acme"), a_key("organisation", "Beta"), a_key("date", "2019-05-03")]
    keys += [a_key("date", "2019-05"), Key("m", "money", value_number=20_000_000.0, unit="USD")]
    (triple,) = derive("On 3 May 2019 Acme bought Beta for $20 million.", *keys)

    assert (triple.head, triple.relation, triple.tail) == ("Acme", "bought", "Beta")
    assert json.loads(triple.properties) == {"date": ["2019-05-03"], "money": ["20000000 USD"]}


def test_a_name_that_is_a_date_is_no_end_whatever_its_type():
    found = derive("Ada left Acme in 1999.", a_key("name", "Ada"), a_key("name", "Acme"), a_key("name", "1999"))

    assert [(t.head, t.relation, t.tail) for t in found] == [("Ada", "left", "Acme")]


def test_names_that_nothing_links_have_no_triple():
    assert derive("Present: Ada, Bob, Oslo.", a_key("person", "Ada"), a_key("person", "Bob")) == []


def test_a_pronoun_stands_for_the_title_where_the_document_uses_it_as_a_name():
    keys = [EventKey("d1", event, key) for event in ("e1", "e2") for key in (a_key(TITLE, "Ada Byrne (poet)"),)]
    keys.append(EventKey("d1", "e2", a_key("place", "Oslo")))
    said = Event("e1", "d1", "c1", 0, "Ada Byrne was a poet.", "t")
    told = Event("e2", "d1", "c1", 1, "She was born in Oslo.", "t")
    silent = Event("e1", "d1", "c1", 0, "A poet's life.", "t")

    assert [t.relation for t in derive_triples("d1", [said, told], keys)] == ["born_in"]
    assert derive_triples("d1", [silent, told], keys) == []


def test_two_spellings_of_one_name_are_not_related():
    assert derive("Acme Inc renamed Acme.", a_key("organisation", "Acme Inc"), a_key("organisation", "Acme")) == []


def test_a_sentence_in_another_language_is_not_read_by_english_grammar():
    keys = [a_key("person", "Bjarne"), a_key("place", "Lormont")]

    assert derive("Bjarne dankt der Mannschaft in Lormont.", *keys, language="de") == []


def test_a_name_is_found_as_a_whole_word_and_the_longer_one_counts():
    assert places_of(["Ann", "Anna", "Anna Ott"], "Anna Ott met Ann.") == [(0, 8, 2), (13, 16, 0)]


@given(st.text(alphabet="AaBb ,.'was by in of the 被由在是的收购了，。0", max_size=60))
def test_any_sentence_is_read_twice_alike(content):
    names = places_of(["A", "B", "aB"], content)
    found = sentence_relations(content, names, 2)
    assert found == sentence_relations(content, names, 2)
    assert all(head != tail and relation for head, relation, tail in found)
