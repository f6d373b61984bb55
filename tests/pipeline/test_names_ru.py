import pytest

from sag_pipeline.extract.entity_resolution import KeyColumns, align_keys
from sag_pipeline.extract.rules.keys import read_mentions
from sag_retrieval.language.words import normal_name
from sag_retrieval.release.text_index import Mentions, write_mentions

NAMES = frozenset({"person", "place", "organisation", "entity"})


def found(text, language="ru"):
    return [(one.key_type, one.value) for one in read_mentions(text, language)[0] if one.key_type in NAMES]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Смотритель маяка Тихон Берестов ведёт дневник.", [("person", "Тихон Берестов")]),
        ("Дневник подарили Тихону Берестову.", [("person", "Тихон Берестов")]),
        ("Письмо писала Мария Ивановна Иванова.", [("person", "Мария Ивановна Иванова")]),
        ("Спор с Марией Ивановной Ивановой продолжался.", [("person", "Мария Ивановна Иванова")]),
        ("Книгу Льва Толстого читают дети.", [("person", "Лев Толстой")]),
        ("Договор подписал И. И. Петров.", [("person", "И. И. Петров")]),
        ("Деньги перевели Петрову И. И. сразу.", [("person", "И. И. Петров")]),
        ("Мы ездили в Нижний Новгород и в Москву.", [("place", "Нижний Новгород"), ("place", "Москва")]),
        ("Волк жил у деревни Холмы.", [("place", "Холмы")]),
        ("Лодка стоит у Чёрного мыса.", [("place", "Чёрный мыс")]),
        ("Договор с ООО «Ромашка» подписан.", [("organisation", "Ромашка")]),
        ("Акции завода «Дубрава-Металл» выросли.", [("organisation", "Дубрава-Металл")]),
    ],
)
def test_a_name_in_any_case_is_found_in_the_nominative(text, expected):
    assert found(text) == expected


def test_a_surname_alone_is_the_person_of_the_text_who_has_it():
    text = "Вчера выступал Иван Петрович Сидоров. С Сидоровым спорили все. Сидорову хлопали."
    assert found(text) == [("person", "Иван Петрович Сидоров")] * 3


@pytest.mark.parametrize(
    "text",
    [
        "Рыбаки боятся воды. Теперь верфь строит паромы.",
        "Роза цвела весь июнь.",
        "Куранты у Никольской церкви спешат.",
        "На ремонт не хватает денег.",
        "Как сказано, Заказчик и Исполнитель подписали Договор.",
    ],
)
def test_first_words_of_sentences_adjectives_and_common_words_with_a_capital_are_no_names(text):
    assert found(text) == []


def test_a_word_of_a_sentences_start_is_a_name_where_the_text_has_it_inside_one():
    assert found("Белогавань растёт. Автобус идёт в Белогавань.") == [("entity", "Белогавань")] * 2


def test_other_languages_in_cyrillic_letters_have_no_names_in_them():
    assert found("Марія Іванова живе у Львові.", "uk") == []


def test_keys_that_differ_in_case_alone_are_one_key():
    values = ["Тихон Берестов", "Тихоном Берестовым", "Тихону Берестову", "Калинин", "Калинино"]
    types = ["person", "person", "person", "person", "place"]
    keys = KeyColumns(list("abcde"), types, values, [normal_name(value) for value in values], [3, 2, 1, 1, 1])
    assert align_keys(keys).canonical == {"b": "a", "c": "a"}


def test_a_question_finds_a_name_in_whatever_case_it_has(tmp_path):
    names = ["Тихон Берестов", "Белогавань", "Ann Lee"]
    write_mentions(tmp_path, [(normal_name(name), row) for row, name in enumerate(names)])
    mentions = Mentions.open(tmp_path)
    asked = "Что Ann Lee рассказала Тихону Берестову о Белогавани?"
    assert sorted(row for _, rows in mentions.find(asked) for row in rows.tolist()) == [0, 1, 2]
    assert mentions.exact("Тихоном Берестовым").tolist() == [0]
