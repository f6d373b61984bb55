"""Names by which a document calls what its title names, and other names in brackets and clauses, found without a model."""

import pytest

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys, own_names
from sag_pipeline.extract.sections import untitled
from sag_retrieval.core.records import TITLE, Document
from sag_retrieval.language.detection import detect_language


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Kevin Durant", "Kevin Wayne Durant"),
        ("F. S. Ellis", "Frederick S. Ellis"),
        ("Tim Burstall", "Timothy Burstall"),
        ("Todd Smith (singer)", "James Todd Smith"),
        ("Baldwin II, Count of Boulogne", "Baldwin II of Boulogne"),
        ("The Harbour Trust of Kiel", "Harbour Trust of Kiel"),
        ("西贡商信银行", "西贡商业信用银行"),
        ("安德里·拉乔利纳", "安德里·尼里纳·拉乔利纳"),
    ],
)
def test_the_name_that_a_text_opens_with_is_that_of_its_title(title: str, name: str):
    others = ["Ann Kevin Lee", "Durant", "商信"]

    assert own_names(title, f"# 1\n\n{name}（1950–2000）.", [name, *others]) == {name}
    assert own_names(title, f"It was {name}.", others) == set()


@pytest.mark.parametrize(
    ("title", "text", "name"),
    [
        ("Kevin Durant", "He met Kevin Wayne Durant.", "Kevin Wayne Durant"),
        ("Kevin Durant", "Wayne Kevin Lee met him.", "Wayne Kevin Lee"),
        ("Durant", "Durant Motors sold cars.", "Durant Motors"),
        ("Brand (play)", "Brand is a play.", "Brand"),
        ("Annual report", "Heron Ltd sold boats.", "Heron Ltd"),
        ("公司年报", "海鹭公司出售船舶。", "海鹭公司"),
    ],
)
def test_other_names_and_single_words_are_not(title: str, text: str, name: str):
    assert own_names(title, text, [name]) == set()


def test_a_title_without_its_addition_means_it_anywhere_in_the_document():
    for title in ("Ann Arbor, Michigan", "Ann Arbor (Michigan)"):
        assert own_names(title, "It rains in Ann Arbor.", ["Ann Arbor", "Michigan"]) == {"Ann Arbor"}


def statements(title: str, text: str) -> set[tuple[str, str]]:
    """Other names that keys state, each with the name that it stands for."""
    document = Document("d", "s", title, text, detect_language(text))
    chunks = split_chunks(document, untitled(document))
    events = [event for own in offline_events(document, chunks) for event in own]
    links = offline_keys(document, events)
    values = {link.key.key_id: str(link.key.value) for link in links}
    return {(str(link.key.value), values[link.same_as]) for link in links if link.same_as}


def test_every_event_says_which_of_its_keys_the_title_names():
    text = "Hugh Edward Myers was a chess master. In 1955 Hugh Edward Myers won the title of Illinois."

    assert statements("Hugh Myers", text) == {("Hugh Edward Myers", "Hugh Myers")}
    assert TITLE not in {one for one, _ in statements("", text)}


@pytest.mark.parametrize(
    ("text", "alias", "name"),
    [
        ("威廉·狄尔泰（Wilhelm Dilthey，1833年），德国哲学家。", "Wilhelm Dilthey", "威廉·狄尔泰"),
        ("威廉·狄尔泰（德语：Wilhelm Dilthey，1833年）是德国哲学家。", "Wilhelm Dilthey", "威廉·狄尔泰"),
        ("Elena Maria Ross (born 1982), known professionally as Ella Ross, sings.", "Ella Ross", "Elena Maria Ross"),
        ("Bruce Leung Siu (born Adam Choi Leung) is an actor.", "Adam Choi Leung", "Bruce Leung Siu"),
    ],
)
def test_brackets_and_clauses_behind_a_name_say_other_names(text: str, alias: str, name: str):
    assert (alias, name) in statements("", text)


def test_a_name_beside_that_of_the_title_is_another_name_of_the_title():
    text = "Onika Tanya Maraj (born 1982), known professionally as Nicki Minaj, sings."

    assert ("Onika Tanya Maraj", "Nicki Minaj") in statements("Nicki Minaj", text)


@pytest.mark.parametrize(
    "text",
    [
        "Adam Choi Leung (born Oslo, 1950) is an actor.",
        "Elena Maria Ross, Ella Ross and Ada Stone sing.",
    ],
)
def test_places_of_birth_and_lists_say_none(text: str):
    assert statements("", text) == set()
