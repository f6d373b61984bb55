"""Talk that settles something is told as a statement: who said it, when, and who agreed."""

from dataclasses import replace

import numpy as np
import pytest
from sag_retrieval.statements.routine import as_quoted, with_routine
from sag_retrieval.statements.talk import settles, told
from sag_retrieval.topics.topic_words import topic_words

from sag_retrieval.statements.quoting import good_rows, quotable

DAY = "2025-03-04"


def table(base, said, documents=None):
    """Events with these texts, each with the people and things whose names it says, all of one day."""
    named = {"person": ("Ida Voss", "Ola", "王芳", "李强"), "place": ("Pier Cafe", "Kielwick", "Ormsund", "Tarn Bay")}
    keys = [(kind, name) for kind, names in named.items() for name in names]
    links = [(row, place) for row, text in enumerate(said) for place, (_, name) in enumerate(keys) if name in text]
    count = len(said)
    return replace(
        base,
        event_ids=[f"e{row}" for row in range(count)],
        contents=list(said),
        chunk=np.array(documents or [0] * count, np.int32),
        spans=np.full((count, 2), -1, np.int32),
        dates=[DAY] * count,
        keys=replace(base.keys, types=[kind for kind, _ in keys], values=[name for _, name in keys], is_text=None),
        links=replace(
            base.links,
            event=np.array([row for row, _ in links], np.int32),
            key=np.array([key for _, key in links], np.int32),
        ),
        vectors=np.ones((count, 2), np.float32),
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "Ida Voss: How about we meet at 7 PM on Friday at the Pier Cafe? Ola: Sounds good, see you there!",
            f"Ida Voss ({DAY}): “How about we meet at 7 PM on Friday at the Pier Cafe?” Ola agreed.",
        ),
        (
            "Time: 20250304_09:30 Ola: Hi! 😊 Just a reminder that the rehearsal is moved to Sunday at 5 PM. Bye!",
            f"Ola ({DAY}): “Just a reminder that the rehearsal is moved to Sunday at 5 PM.”",
        ),
        (
            "Ola: Also, I booked a table at the Pier Cafe yesterday.",
            f"Ola ({DAY}): “I booked a table at the Pier Cafe yesterday.”",
        ),
        (
            'Ola: I finished the plan "Tarn Bay" on Monday.',
            f"Ola ({DAY}): “I finished the plan ‘Tarn Bay’ on Monday.”",
        ),
        (
            "王芳：我们周五下午三点在码头见面吧？李强：好的，没问题。",
            f"王芳（{DAY}）：“我们周五下午三点在码头见面吧？”李强同意。",
        ),
        ("李强：我昨天已经把合同送到仓库了。", f"李强（{DAY}）：“我昨天已经把合同送到仓库了。”"),
    ],
)
def test_what_talk_settles_is_told_with_speaker_and_day(towns, said, expected):
    found = told(table(towns(), [said]))

    assert found.contents == [expected]
    assert quotable(found, np.zeros(1, np.int32)).all()


@pytest.mark.parametrize(
    "said",
    [
        "Ida Voss: That sounds amazing! Ola: Can't wait for Sunday!",
        "Ida Voss: What do you think about the concert on Friday at 7 PM?",
        "Ida Voss: How about we meet at 7 PM on Friday? Ola: I have no idea what you mean.",
        "Ola: Let's bring that energy on Sunday!",
        "王芳：太棒了，期待周末！",
        "Ola opened the Pier Cafe on Friday at 7 PM.",
        "Opening hours: we will open at 7 PM on Friday.",
    ],
)
def test_other_talk_and_other_texts_stay_as_they_are(towns, said):
    assert told(table(towns(), [said])).contents == [said]


def test_an_answer_is_that_of_the_next_turn_even_in_the_next_event(towns):
    said = ["Ida Voss: Shall we meet on Friday at 6 PM?", "Ola: Yes, that works for me.", "Ida Voss: Great."]

    assert told(table(towns(), said)).contents[0].endswith("“Shall we meet on Friday at 6 PM?” Ola agreed.")
    apart = told(table(towns(), said, documents=[0, 1, 1]))
    assert apart.contents == said


ROUTINE = (
    "The canteen in Kielwick is painted on Friday; Ida Voss keeps the keys.",
    "The canteen in Ormsund is painted on Friday; Ola keeps the keys.",
    "The canteen in Tarn Bay is painted in March; Ida Voss keeps the keys.",
)
ORDERS = (
    "Kielwick orders 12 buoys for the yard and pays 3,000 euros.",
    "Ormsund orders 40 buoys for the yard and pays 9,000 euros.",
    "Tarn Bay orders 7 buoys for the yard and pays 1,000 euros.",
)


def test_what_three_documents_say_with_other_names_is_routine_unless_it_holds_an_amount(towns):
    said = [*ROUTINE, *ORDERS, "Ida Voss sold the canteen in Kielwick to Ola in 2019."]
    events = table(towns(), said, documents=[0, 1, 2, 0, 1, 2, 0])

    found = with_routine(events)

    assert found.is_routine.tolist() == [True] * 3 + [False] * 4
    rows = np.arange(len(said), dtype=np.int32)
    assert not quotable(as_quoted(events), rows)[:3].any()
    assert good_rows(as_quoted(events), rows, 7).tolist() == [3, 4, 5, 6]
    assert good_rows(as_quoted(events), rows[:3], 7).tolist() == [0, 1, 2]
    assert len(with_routine(table(towns(), said)).is_routine) == 0  # one document does not make a routine


def test_a_sentence_that_documents_share_word_for_word_is_no_routine(towns):
    events = table(towns(), [ROUTINE[0]] * 3, documents=[0, 1, 2])

    assert len(with_routine(events).is_routine) == 0


def test_chinese_sentences_are_compared_without_their_names(towns):
    said = [f"{name}与同事在港口核对了图纸，未作结论。" for name in ("王芳", "李强", "王芳和李强")]

    assert with_routine(table(towns(), said, documents=[0, 1, 2])).is_routine.tolist() == [True] * 3


def test_a_figure_in_a_name_is_no_amount(towns):
    said = [
        f"{who} compared two offers for the {thing} and left it at that."
        for who, thing in (("Ida Voss", "Heron-7"), ("Ola", "X2"), ("王芳", "Teal-3"))
    ]

    assert with_routine(table(towns(), said, documents=[0, 1, 2])).is_routine.tolist() == [True] * 3


@pytest.mark.parametrize(
    ("statement", "firmness"),
    [
        ("Ola (2025-03-04): “We meet at the pier on Friday.” Ida Voss agreed.", 2),
        ("Ola (2025-03-04): “The rehearsal starts at 5 PM.”", 2),
        ("Ola (2025-03-04): “I moved the rehearsal to Tuesday, so we meet on Friday.”", 1),
        ("Ola (2025-03-04): “I have read Harbour Lights.”", 0),
        ("王芳（2025-03-04）：“我周五上午十点把图纸送到码头。”", 2),
        ("王芳（2025-03-04）：“我们下周开会。”", 1),
    ],
)
def test_an_hour_or_an_answer_settles_more_firmly_than_a_day(statement, firmness):
    assert settles(statement) == firmness


def test_routine_has_no_words_for_a_topic(towns):
    events = towns(months=4)

    assert topic_words(events).counts.nnz > 0
    assert topic_words(events, np.ones(len(events), np.bool_)).counts.nnz == 0
    assert topic_words(events, np.zeros(0, np.bool_)).counts.nnz == topic_words(events).counts.nnz
