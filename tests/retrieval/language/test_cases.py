import pytest

from sag_retrieval.language.cases import without_cases


@pytest.mark.parametrize(
    "forms",
    [
        "иванов иванова иванову ивановым иванове ивановой ивановы ивановых",
        "достоевский достоевского достоевскому достоевским достоевском достоевская достоевской достоевскую",
        "горький горького горькому горьким",
        "мария марии марию марией",
        "сергей сергея сергею сергеем сергее",
        "дмитрий дмитрия дмитрию дмитрием дмитрии",
        "георгий георгия георгием",
        "максим максима максимом",
        "рустам рустама рустаму",
        "зоя зои зою зоей",
        "никита никиты никитой",
        "петрович петровича петровичу петровичем",
        "петровна петровны петровне петровну петровной",
        "фёдор федора фёдором",
        "москва москвы москве москву москвой",
        "казань казани казанью",
        "россия россии россию россией",
        "белогавань белогавани белогаванью",
    ],
)
def test_all_cases_of_a_name_are_one_form(forms):
    assert len({without_cases(form) for form in forms.split()}) == 1


def test_names_that_are_not_forms_of_one_another_stay_apart():
    names = "иван иванов никита никитин петр петров петрович мария марина москва казань россия чехия ким".split()
    assert len({without_cases(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["ann lee", "東京", "苹果公司", "müller", ""])
def test_other_scripts_have_no_cases(name):
    assert without_cases(name) == name
