"""Of sentences that answer equally well the one that was said last answers, or first for a question about the past."""

import pytest

from sag_retrieval.ask.revised import newest_first
from sag_retrieval.ask.sentences import Sentence
from sag_retrieval.search.result import HitEvent
from tests.support.overlap_search import Found

NAMES = frozenset({"orin"})
TEXTS = {"en": "Orin pays {} euros for the crane.", "zh": "奥林的塔吊租金为{}欧元。"}
NOW = {"en": "What does Orin pay for the crane?", "zh": "奥林的塔吊租金是多少？"}
PAST = {"en": "What did Orin originally pay for the crane?", "zh": "奥林的塔吊租金原来是多少？"}


def found(*told: tuple[str, str | None, str], coverage: float = 1.0) -> tuple[list[Sentence], list[Found]]:
    """Sentences that say as much, of passages each said on a day in a document of a title."""
    hits, sentences = [], []
    for place, (text, said, title) in enumerate(told):
        event = HitEvent(f"e{place}", text, said)
        hits.append(Found(place + 1, 0.9, f"c{place}", f"d{place}.md", title, text, 0, len(text), (event,)))
        share = 1.0 if place == 0 else coverage
        sentences.append(
            Sentence(place, 0, len(text), text, NAMES, score=1.0 - place / 10, coverage=share, focus=share)
        )
    return sentences, hits


@pytest.mark.parametrize("language", TEXTS)
def test_the_last_said_comes_first_and_for_the_past_the_first(language):
    text = TEXTS[language]
    ranked, hits = found(
        (text.format(5), "2024-03-01", "A"), (text.format(7), "2025", "B"), (text.format(6), None, "C")
    )

    assert [one.place for one in newest_first(NOW[language], ranked, hits, NAMES)] == [1, 0, 2]
    assert [one.place for one in newest_first(PAST[language], ranked, hits, NAMES)] == [0, 1, 2]
    assert newest_first(NOW[language], ranked, hits, NAMES)[0].score == ranked[0].score


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("I heard that Orin pays 9 euros.", "Mail"),
        ("据说奥林付9欧元。", "邮件"),
        ("Orin pays 9 euros.", "Draft of the letter"),
    ],
)
def test_a_rumour_or_a_draft_is_never_the_newest(text, title):
    ranked, hits = found(("Orin pays 5 euros.", "2024-03-01", "A"), (text, "2025-01-01", title))

    assert [one.place for one in newest_first("What does Orin pay?", ranked, hits, NAMES)] == [0, 1]


def test_a_sentence_that_says_less_or_speaks_of_another_thing_stays_behind():
    told = ("Orin pays 5 euros.", "2024-03-01", "A"), ("It pays 7 euros.", "2025-01-01", "B")
    less, hits = found(*told, coverage=0.9)
    ranked, _ = found(*told)
    other = [ranked[0], Sentence(1, 0, 16, "It pays 7 euros.", frozenset(), score=0.9, coverage=1.0, focus=1.0)]

    assert [one.place for one in newest_first("What does Orin pay?", less, hits, NAMES)] == [0, 1]
    assert [one.place for one in newest_first("What does Orin pay?", other, hits, NAMES)] == [0, 1]
    assert newest_first("What does Orin pay?", [], hits, NAMES) == []
