"""Which events a report quotes: those that the scorer takes, no plan, and nothing that many documents repeat."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sag_retrieval.clusters.events import Chunks, Documents, EventLinks, EventTable, Keys
from sag_retrieval.statements.scorer import (
    Judged,
    QuotableEvents,
    boilerplate,
    good_rows,
    quotable,
    worth,
    worth_quoting,
)

NAMES = ("Falk Mills", "Falk", "Brandt", "Oster", "Lindqvist", "Amsel", "Kielwick")


def table(texts: Sequence[str], documents: Sequence[int] | None = None) -> EventTable:
    """One event of each text, with the people that it names as keys; each in its own chunk."""
    held = documents or [0] * len(texts)
    count = max(held) + 1
    links = [(row, key) for row, text in enumerate(texts) for key, name in enumerate(NAMES) if name in text]
    pairs = np.array(links, np.int32).reshape(-1, 2)
    return EventTable(
        event_ids=[f"e{row}" for row in range(len(texts))],
        contents=list(texts),
        chunk=np.arange(len(texts), dtype=np.int32),
        spans=np.full((len(texts), 2), -1, np.int32),
        dates=[None] * len(texts),
        chunks=Chunks(
            chunk_ids=[f"c{row}" for row in range(len(texts))], texts=list(texts), document=np.array(held, np.int32)
        ),
        documents=Documents(
            document_ids=[f"d{row}" for row in range(count)],
            titles=[f"d{row}" for row in range(count)],
            languages=["en"] * count,
        ),
        keys=Keys(types=["person"] * len(NAMES), values=list(NAMES)),
        links=EventLinks(event=pairs[:, 0], key=pairs[:, 1]),
        vectors=np.eye(len(texts), dtype=np.float32),
    )


def test_a_sentence_of_three_documents_is_boilerplate_and_one_whose_figure_differs_is_not():
    people = ["Falk", "Brandt", "Oster", "Lindqvist"]
    same = [f"The accused {name} may appeal against the verdict within 10 days." for name in people]
    differing = [f"The accused {name} paid the guild a fine worth {at + 3} crowns." for at, name in enumerate(people)]
    events = table([*same, *differing], documents=[0, 1, 2, 3] * 2)

    assert boilerplate(events).tolist() == [True] * 4 + [False] * 4


EVERY = np.arange(3, dtype=np.int32)
SAID = (
    "Falk Mills sold 40 looms to the guild of Varn in 2019.",
    "Looms and carts",
    "Nobody at the quay knew why the looms stood still.",
)


def test_what_the_scorer_takes_is_quoted_but_for_plans_and_boilerplate():
    events = QuotableEvents.of(table(SAID))

    assert quotable(events, EVERY).tolist() == [True, False, True]
    assert worth_quoting(events, EVERY).tolist() == [True, False, False]
    assert good_rows(events, EVERY, 1).tolist() == [0]
    assert good_rows(events, EVERY, 3).tolist() == [0, 2]
    for name in ("is_forecast", "is_boilerplate"):
        assert not quotable(replace(events, **{name: np.ones(3, np.bool_)}), EVERY).any()


def test_where_nothing_can_be_quoted_a_few_that_nearly_can_stand_in():
    events = QuotableEvents.of(table(SAID), lambda texts: [Judged(0.1 * len(each) / 10, 0.0) for each in texts][:3])
    few = QuotableEvents.of(table(SAID), lambda texts: [Judged(0.4, 0.1), Judged(0.2, 0.1), Judged(0.45, 0.1)])

    assert good_rows(few, EVERY, 5).tolist() == [0, 2]
    assert good_rows(events, EVERY[1:2], 5).tolist() == []


def test_another_scorer_may_be_passed_in():
    events = QuotableEvents.of(table(SAID), lambda texts: [Judged(float("cart" in each), 0.3) for each in texts])

    assert quotable(events, EVERY).tolist() == [False, True, False]
    assert worth(events, EVERY).tolist() == [0.3, 0.3, 0.3]
