"""Sentences of a tale that a reader understands alone, and the paragraphs that retell its parts."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.communities import retelling
from sag_retrieval.communities.called import as_called
from sag_retrieval.communities.events import EventLinks
from sag_retrieval.communities.narration import Narration, is_independent, tells
from sag_retrieval.communities.retelling import retell
from sag_retrieval.communities.said import SaidNames
from sag_retrieval.communities.spoken import spoken_parts
from tests.support.tale import tale

PLAIN = "Ida Voss carried the lantern down to the old harbour before the storm."


def narration(sentences, **options):
    events = tale([("One", sentences)], **options)
    return events, Narration(events, SaidNames(events))


def told(sentences, **options):
    events, found = narration(sentences, **options)
    return found.told(np.arange(len(events), dtype=np.int32))


def told_texts(sentences, **options):
    return [each.text for each in told(sentences, **options)]


def test_a_sentence_about_somebody_it_names_stands_alone():
    assert told_texts([PLAIN]) == [PLAIN]


@pytest.mark.parametrize(
    "sentence",
    [
        "The lantern was carried down to the old harbour before the storm.",
        "But Ida Voss carried the lantern down to the old harbour.",
        "Ida Voss carried this lantern down to the old harbour at dusk.",
        "Ida Voss asked, the lantern swinging in her hand, what had become of you.",
        "Ida Voss left.",
        "Captain Ida Voss he called her when she came home from the river.",
        "Nobody on the ferry, and a small light (Ida Voss was ill) in the window of the house.",
        "C’est comme cela que Ida Voss vivait au bord du grand fleuve.",
        "3 Ida Voss is named so in the first edition of the tale.",
    ],
)
def test_what_names_nobody_or_points_back_does_not_stand(sentence):
    assert told_texts([sentence]) == []


def test_half_of_what_somebody_says_is_left_out():
    sentences = ["'Ida Voss has gone over the river.", "Marten Brook saw the ferry leave at dawn.'", PLAIN]

    assert told_texts(sentences) == [PLAIN]


def test_words_in_quotation_marks_stand_with_the_name_of_the_speaker():
    said = "'Oona Pell has sold the ferry to the miller of the lower town,' said Marten Brook."
    asked = "'Has Oona Pell sold the ferry to the miller of the lower town?' said Marten Brook."

    assert told_texts([said, asked]) == [said]


def test_a_turn_after_a_dash_is_spoken():
    events, _ = narration(["– Ida Voss has gone over the river.", PLAIN])

    assert [each.is_any for each in spoken_parts(events, [0])] == [True]


def test_an_apostrophe_opens_nothing():
    events, _ = narration(["The ferrymen's boat was Ida Voss's."])

    assert not spoken_parts(events, [0])[0].is_any


HIS = ["Marten Brook sold his boat and bought himself a coat in the town."] * 3


def test_he_stands_for_the_person_named_last():
    found = told([*HIS, "He walked through the market and gave away all of the money."])[-1]

    assert not found.stands
    assert found.quoted("Marten Brook") == "[Marten Brook] walked through the market and gave away all of the money."


def test_he_stands_for_nobody_after_another_who_is_not_named():
    sentences = [*HIS, "The miller came out of the house.", "He walked through the market and gave away all of it."]

    assert all(each.stands for each in told(sentences))


def test_he_stands_for_nobody_after_two_names():
    sentences = [*HIS, "Marten Brook met Ida Voss at the mill.", "He walked through the market and gave away the coat."]

    assert all(each.stands for each in told(sentences))


def test_she_is_none_who_is_called_he():
    assert all(each.stands for each in told([*HIS, "She walked through the market and gave away all of the money."]))


def test_a_name_that_extraction_put_for_a_pronoun_is_not_quoted():
    put = "Oona Pell walked through the market and gave away all of the money."

    assert told_texts([put, PLAIN], changed={put: put.replace("Oona Pell", "He")}) == [PLAIN]


def test_a_heading_in_capitals_before_a_sentence_is_cut_off():
    assert told_texts([f"THE FERRY AT NIGHT {PLAIN}"]) == [PLAIN]


def test_a_key_of_the_whole_document_names_nobody():
    sentences = [PLAIN, "Marten Brook rowed the ferry over the swollen river in the dark."] * 15
    events, found = narration(sentences, everywhere="The Ferry")

    assert [events.keys.values[key] for row in (0, 1) for key in found.names(row)] == ["Ida Voss", "Marten Brook"]
    assert events.keys.values.index("The Ferry") not in SaidNames(events)


def test_a_document_with_figures_in_its_sentences_reports():
    assert tells(tale([("One", [PLAIN] * 5)]))
    assert not tells(tale([("One", ["Ida Voss sold 12 boats in the spring."] * 5)]))


@pytest.mark.parametrize(
    "item", ["and (iv) 300 shares held by Ida Voss.", "及(vi)该信托持有的300股股份。", "He held 300 shares."]
)
def test_an_item_of_a_list_is_not_independent(item):
    assert not is_independent(item)
    assert is_independent("Ida Voss held 300 shares.")


DEEDS = [
    f"{who} {deed}."
    for deed in (
        "rowed the ferry over the swollen river in the dark",
        "bought bread and candles at the market of the upper town",
        "wrote a long letter about the mill to a cousin abroad",
        "mended the broken roof of the chapel with new slate",
        "found a purse of silver beneath the stones of the bridge",
        "taught the children of the village to swim in summer",
    )
    for who in ("Ida Voss", "Marten Brook")
] * 3


def test_a_part_is_retold_in_reading_order_by_one_sentence_of_each_stretch():
    events, found = narration(list(dict.fromkeys(DEEDS)) + ["Nobody spoke a word."] * 24)
    rows = np.arange(len(events), dtype=np.int32)

    quoted = retell(events, rows, found.told(rows), 4, ())

    assert len(quoted) == 4
    assert [each.row for each in quoted] == sorted({each.row for each in quoted})
    assert len({each.text for each in quoted}) == 4


def test_a_sentence_that_another_part_has_quoted_is_not_quoted_again():
    events, found = narration(list(dict.fromkeys(DEEDS)))
    rows = np.arange(len(events), dtype=np.int32)
    first = [each.text for each in retell(events, rows, found.told(rows), 1, ())]

    assert first
    assert not set(first) & {each.text for each in retell(events, rows, found.told(rows), 1, first)}


def test_a_pronoun_gives_way_to_the_name_once():
    deeds = ["He rowed over the swollen river in the dark night.", "He gave away all of the money at the market."]
    quiet = ["Nobody spoke a word."] * 12
    events, found = narration([*HIS, deeds[0], *quiet[:10], HIS[0], deeds[1], *quiet])
    rows = np.arange(len(events), dtype=np.int32)
    by_pronoun = [each for each in found.told(rows) if not each.stands]

    quoted = retell(events, rows, by_pronoun, 2, ())

    assert [each.text for each in quoted] == [deeds[0].replace("He", "[Marten Brook]"), deeds[1]]


def test_where_sumy_is_not_installed_longer_sentences_hold_more(monkeypatch):
    monkeypatch.setattr(retelling, "find_spec", lambda _name: None)

    assert retelling.central(["Short one.", "A longer sentence."]).tolist() == [10.0, 18.0]


CREWS = [f"{name} rowed the ferry over the river {when}." for name in ("Old Brook", "Ida") for when in "abcdef"]


def test_a_person_is_called_as_the_document_does():
    rare, both = [*CREWS, "Marten Brook slept."], [*CREWS, *["Ida Voss slept."] * 3]

    assert as_called(tale([("One", rare)])).keys.values[1] == "Marten Brook"
    assert as_called(tale([("One", [*rare, *[CREWS[0]] * 10])])).keys.values[1] == "Brook"
    assert as_called(tale([("One", both)])).keys.values[0] == "Ida Voss"


def test_a_word_that_means_other_things_too_is_no_short_name():
    persons = ("Marten Brook", "Ida Voss")
    sentences = ["The Brook rose again."] * 30 + ["Marten Brook slept."] + ["Brook woke again at dawn."] * 12
    events = tale([("One", sentences)], persons=persons)
    meant = np.flatnonzero([text != sentences[0] for text in sentences])
    links = EventLinks(event=meant.astype(np.int32), key=np.zeros(len(meant), np.int32))

    assert as_called(replace(events, links=links)).keys.values[0] == "Marten Brook"
