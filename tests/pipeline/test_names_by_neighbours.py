"""Names whose type or whole form shows in what stands beside them, and words that only look like names."""

import pytest

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import FORECAST, offline_keys, read_mentions
from sag_retrieval.core.records import Document, Section


def found(text, language="en"):
    return {(mention.key_type, str(mention.value)) for mention in read_mentions(text, language)[0]}


def test_a_column_has_the_type_that_some_of_its_names_have():
    rows = [("Oslo", "Alice Brown"), ("Vestholm", "Kwabena Asante"), ("Aberwick", "Owain Pritchard")]
    table = "".join(f"| Site: {place} | winch | {person} |\n" for place, person in rows)

    names = found(f"The list of winches.\n\n{table}")

    assert {("person", "Kwabena Asante"), ("person", "Owain Pritchard")} <= names
    assert {("place", "Vestholm"), ("place", "Aberwick")} <= names


def test_a_word_behind_a_place_and_a_comma_is_a_place():
    assert ("place", "Hallburn") in found("She lives at 45 Eastwood Street, Hallburn with her sister.")


def test_initials_do_not_stand_for_a_longer_name_that_begins_with_them():
    names = found("It is built with GNU tools. The GNU Software Foundation pays for them, and GNU grows.")

    assert ("entity", "GNU") in names
    assert ("organisation", "GNU Software Foundation") in names


def test_a_firm_in_capitals_keeps_its_legal_form():
    assert ("organisation", "HALVARD, INC.") in found("The notes of HALVARD, INC. are part of this report.")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("All long-term plans. Our Long-term debt grew.", "Long-term"),
        ("Every section counts. See Section 4.4.3 of it, and Section 5.1.", "Section"),
        ("2. **Recovered Groceries:** The items were in the trunk of her car.", "Recovered Groceries"),
        ("| 1 | Facture: cric | 4 |\n| 2 | Facture: pompe | 5 |", "Facture"),
        ("All common stock was sold. The Common Stock said nothing.", "person Common Stock"),
    ],
)
def test_words_of_a_phrase_a_label_or_a_reference_are_no_names(text, word):
    assert word not in {value for _, value in found(text)}
    assert word not in {f"{key_type} {value}" for key_type, value in found(text)}


def test_an_article_of_a_law_is_no_amount():
    assert not {pair for pair in found("依照该条例第352条的规定办理。", "zh") if pair[0] == "quantity"}


def test_a_masked_name_behind_a_rare_surname_is_a_person():
    names = found("随后，谈某清洗了现场。谈某于当晚离开。因某些原因，对某事不提。因某些原因再议。", "zh")

    assert ("person", "谈某") in names
    assert not {value for _, value in names} & {"因某", "对某"}


@pytest.mark.parametrize(
    "text", ["他把车开到一处废弃工厂。", "证人与物业公司交涉。", "她与某物流公司签约。", "经本院审判委员会评议。"]
)
def test_an_institution_that_is_only_described_is_no_name(text):
    assert not {pair for pair in found(text, "zh") if pair[0] == "organisation"}


def test_a_habit_is_no_forecast():
    text = "The daemons will automatically build a package.\nThe daemons will be replaced in May.\n"
    document = Document("d", "s", "Title", text, "en")
    chunks = split_chunks(document, [Section("s1", "d", 0, "", "", 0, len(text))])
    events = [event for made in offline_events(document, chunks) for event in made]

    ahead = {link.event_id for link in offline_keys(document, events) if link.key.key_type == FORECAST}

    assert [event.event_id in ahead for event in events] == [False, True]
