import pytest

from sag_retrieval.search.method import Query, parse_query, weigh_names
from sag_retrieval.search.question_words import without_question_words


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("苹果公司为什么召回手机？", "苹果公司 召回手机?"),
        ("谁创立了昆明种子公司", "创立了昆明种子公司"),
        ("合同要提前几天解除", "合同要提前 天解除"),
        ("Wie lange läuft der Vertrag?", "lange lauft vertrag?"),
        ("Comment installer Debian ?", "installer debian ?"),
        ("¿Cómo se crean enlaces?", "¿ crean enlaces?"),
        ("なぜ出荷が止まりましたか", "出荷が止まりましたか"),
        ("Почему выпуск задержали?", "выпуск задержали?"),
        ("Quando è stato firmato il contratto?", "stato firmato contratto?"),
        ("Waarom is de levering te laat?", "is levering laat?"),
        ("How many days ahead?", "days ahead?"),
    ],
)
def test_words_that_only_ask_go(question, left):
    assert without_question_words(question).split() == left.split()


@pytest.mark.parametrize(
    "text",
    [
        "who deleted the comment?",
        "comment policy",
        "michelle wie's prize",
        "hotels on lake como",
        "任何时候都可以退货",
        "十几个客户",
        "几何学",
        "哪吒之魔童降世",
    ],
)
def test_the_same_letters_stay_where_they_do_not_ask(text):
    assert without_question_words(text) == text


def test_a_query_of_question_words_alone_keeps_them(corpus):
    assert parse_query(corpus, Query("由谁")).terms
    assert parse_query(corpus, Query("谁")).terms == corpus.arrays.terms.numbers("谁")


def test_terms_of_a_name_in_the_query_weigh_more(corpus):
    reading = weigh_names(corpus, parse_query(corpus, Query("Where did Hank Snow die?")), 1.5)

    hank, die = (next(iter(corpus.arrays.terms.numbers(word))) for word in ("Hank", "die"))
    assert (reading.terms[hank], reading.terms[die]) == (1.5, 1.0)
