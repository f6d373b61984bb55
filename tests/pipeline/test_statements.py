"""Events that can be read by themselves: turns of talks, forms, headings, wrapped lines, rows without names."""

import pytest

from sag_pipeline.extract.chunks import ChunkOptions, split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.lines import turns_of, words_said
from sag_retrieval.core.records import Document, Section
from sag_retrieval.language.layout import logical_lines
from sag_retrieval.language.sentences import sentences

TALK = """Time: 20270308_10:00
MiraOkafor: The pump in hall four was replaced on Monday. It runs more quietly now.
TomasLind: Great, thanks Mira!
MiraOkafor: I asked the supplier for a second one. He wants 900 euros.
TomasLind: Did he say when it could be delivered to the harbour?
MiraOkafor: Bye, Tomas!
"""


def read(text, language="en", size=2_000):
    document = Document("d", "s", "Title", text, language)
    whole = [Section("s1", "d", 0, "", "", 0, len(text))]
    chunks = split_chunks(document, whole, ChunkOptions(zh_size=size, en_size=size, whole_factor=0))
    events = [event for found in offline_events(document, chunks) for event in found]
    keys = offline_keys(document, events)
    named = {event.event_id: [] for event in events}
    for link in keys:
        if link.key.key_type != "title":
            named[link.event_id].append((link.key.key_type, link.key.value))
    return [(event.content, named[event.event_id]) for event in events]


def contents(text, language="en", size=2_000):
    return [content for content, _ in read(text, language, size)]


def test_a_turn_of_a_conversation_is_one_event_and_its_speaker_a_person():
    events = read(TALK)

    said = [content for content, _ in events]
    assert any(content.endswith("in hall four was replaced on Monday. It runs more quietly now.") for content in said)
    assert any(content.startswith("MiraOkafor: I asked the supplier for a second one. He wants") for content in said)
    assert ("person", "TomasLind") in next(keys for content, keys in events if "delivered" in content)


def test_turns_that_only_greet_or_thank_are_no_events():
    said = " ".join(contents(TALK))

    assert "Bye" not in said
    assert "Great, thanks" not in said


def test_later_parts_of_a_long_turn_state_the_speaker_and_carry_the_key():
    story = " ".join(f"We opened valve number {number} and wrote the pressure down." for number in range(20))
    talk = (
        f"Mira: {story}\nTomas: How high was it at the last one?\nMira: It was low.\nTomas: Then we must look again.\n"
    )

    events = [(content, keys) for content, keys in read(talk) if "valve" in content]

    assert len(events) > 1
    assert all(content.startswith("Mira: We opened") for content, _ in events)
    assert all(("person", "Mira") in keys for _, keys in events)


def test_a_form_whose_labels_repeat_is_no_conversation():
    form = "Name: Ada\nDate: 3 May\n\nName: Bob\nDate: 4 May\n\nName: Cem\nDate: 5 May\n"

    assert turns_of(form, logical_lines(form)) == {}


@pytest.mark.parametrize(
    ("said", "count"), [("好的，谢谢", 0), ("哈哈", 0), ("No problem at all!", 0), ("I moved to Oslo.", 2)]
)
def test_words_that_say_something_are_counted_in_both_languages(said, count):
    assert words_said(said, frozenset()) == count


def test_an_emoji_ends_a_line_so_that_the_next_turn_begins():
    talk = "Mira: We should meet at the old lighthouse \U0001f31f\nTomas: I will bring the maps of the whole coast.\n"

    assert len(logical_lines(talk)) == 2


def test_fields_of_a_form_are_one_event_up_to_a_heading():
    form = "# Lessee\n\nName: Ada Byron\nBorn: 8 June 1998\nResidence: 45 Elm Street\n\n# Lessor\n\nName: Cem Kaya\n"

    assert contents(form) == ["Name: Ada Byron Born: 8 June 1998 Residence: 45 Elm Street", "Name: Cem Kaya"]


def test_what_announces_joins_what_follows():
    text = "The court considered several factors:\n\nThe driver had slept for two hours.\n"

    assert contents(text) == ["The court considered several factors: The driver had slept for two hours."]


def test_a_heading_without_marks_joins_the_first_sentence_below_it():
    text = "The report is about the harbour.\n\nCosts of the new quay\n\nThe quay cost 4 million euros.\n"

    assert contents(text)[1:] == ["Costs of the new quay The quay cost 4 million euros."]


def test_a_running_head_gives_no_event():
    page = "The quay was {} metres long in the year of its opening.\n\nHARBOUR, INC. {}\n\n"
    text = "".join(page.format(number + 100, number) for number in range(6))

    assert not any("HARBOUR" in content for content in contents(text))


def test_a_sentence_whose_first_line_is_short_in_its_chunk_stays_whole():
    first = "The harbour was dredged twice in that year and the quay was paved anew. Competition for berths in our"
    text = f"{first}\nregion is fierce and has been so for a decade at least, as all reports say.\n"

    assert (
        "Competition for berths in our region is fierce and has been so for a decade at least, as all reports say."
        in (contents(text, size=75))
    )


def test_a_line_that_ends_with_initials_goes_on_in_small_letters():
    text = (
        "Rising prices of oil can change our margins for a long time. Changes in U.S.\ntrade policies had an impact.\n"
    )

    assert sentences(text)[-1] == "Changes in U.S.\ntrade policies had an impact."


def test_a_row_that_names_none_of_its_numbers_gives_no_event():
    table = "| Item | 2023 | 2024 |\n|---|---|---|\n| Quay | 4 | 5 |\n| | 9 | 11 |\n"

    assert contents(table) == ["Item: Quay; 2023: 4; 2024: 5"]


def test_rows_of_figures_without_borders_stay_together():
    text = "China 559 538\nJapan 210 220\n"

    assert contents(text) == ["China 559 538 Japan 210 220"]


def test_what_announces_at_the_end_of_a_chunk_joins_the_next_one():
    first = "The court heard the case in May and in June. " * 6
    text = f"{first}It considered several factors about Alice Brown:\n\nThe driver had slept for two hours.\n"

    (content, keys) = read(text, size=len(first) + 60)[-1]

    assert content == "It considered several factors about Alice Brown: The driver had slept for two hours."
    assert ("person", "Alice Brown") in keys


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            (
                "The rent covers:\n\n- the use of the hall on the ground floor of the house;\n"
                "- the heating of the hall between October and April;\n- Repairs are paid by the owner of the house.\n"
            ),
            "en",
            [
                "The rent covers: - the use of the hall on the ground floor of the house;",
                "The rent covers: the heating of the hall between October and April;",
                "Repairs are paid by the owner of the house.",
            ],
        ),
    ],
)
def test_an_item_that_is_no_sentence_states_what_announces_its_list(text, language, expected):
    assert contents(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected", "name"),
    [
        (
            "Alice Brown ran a shop in Oslo for years. She sold false brands there. Her acts harmed the town.",
            "en",
            ["Alice Brown sold false brands there.", "Alice Brown’s acts harmed the town."],
            "Alice Brown",
        ),
        (
            "宋某在家中被警方抓获归案。他承认了全部犯罪事实。他的行为构成交通肇事罪。",
            "zh",
            ["宋某承认了全部犯罪事实。", "宋某的行为构成交通肇事罪。"],
            "宋某",
        ),
    ],
)
def test_a_pronoun_is_the_one_person_of_the_sentence_before(text, language, expected, name):
    found = read(text, language)

    assert [content for content, _ in found[1:]] == expected
    assert all(("person", name) in keys for _, keys in found)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Alice Brown met Cem Kaya in the harbour. She smiled at the boats there.", "en"),
        ("宋某驾车撞上了行人王某的自行车。他当场逃离了现场没有停车。", "zh"),
        ("宋某在家中被警方抓获归案。他们都被带走了没有再回来。", "zh"),
    ],
)
def test_a_pronoun_that_may_be_either_of_two_stays(text, language):
    assert contents(text, language) == sentences(text)


def test_a_short_turn_with_a_time_of_its_own_joins_no_neighbour():
    talk = (
        "[2025-10-08 08:22] Mira Okafor: see attachment\n[2025-10-09 08:16] Tomas Lind: The canteen stays closed.\n"
        "[2025-10-10 09:00] Mira Okafor: The keys are with the porter now.\n[2025-10-11 09:05] Tomas Lind: back at 2\n"
    )

    assert contents(talk) == talk.splitlines()
