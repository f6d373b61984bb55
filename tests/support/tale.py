"""A table of the sentences of a tale in parts, each event carrying the persons that its sentence names."""

from collections.abc import Sequence

import numpy as np

from sag_retrieval.clusters.events import Chunks, Documents, EventLinks, EventTable, Keys
from sag_retrieval.models.hashing import HashingEmbedder, fit

PERSONS = ("Ida Voss", "Marten Brook", "Oona Pell")


def tale(
    parts: Sequence[tuple[str, Sequence[str]]],
    persons: Sequence[str] = PERSONS,
    changed: dict[str, str] | None = None,
    everywhere: str = "",
) -> EventTable:
    """One document with a section for each part, a paragraph for each part, an event for each sentence.

    Args:
        parts: Title and sentences of each part.
        persons: Keys; an event carries those of which its sentence says a word.
        changed: Sentences as the document has them, by what extraction made of them.
        everywhere: A key of every event.
    """
    texts, contents, chunk, spans, links = [], [], [], [], []
    for number, (_, sentences) in enumerate(parts):
        text = ""
        for sentence in sentences:
            source = (changed or {}).get(sentence, sentence)
            spans.append((len(text), len(text) + len(source)))
            text += f"{source} "
            links += [(len(contents), key) for key, name in enumerate(persons) if set(name.split()) & _words(sentence)]
            links += [(len(contents), len(persons))] if everywhere else []
            contents.append(sentence)
            chunk.append(number)
        texts.append(text)
    pairs = np.array(links, np.int32).reshape(-1, 2)
    return EventTable(
        event_ids=[f"e{row:03}" for row in range(len(contents))],
        contents=contents,
        chunk=np.array(chunk, np.int32),
        spans=np.array(spans, np.int32),
        dates=[None] * len(contents),
        chunks=Chunks(
            chunk_ids=[f"c{number}" for number in range(len(parts))],
            texts=texts,
            document=np.zeros(len(parts), np.int32),
            sections=[title for title, _ in parts],
        ),
        documents=Documents(document_ids=["tale.txt"], titles=["The Ferry"], languages=["en"]),
        keys=Keys(
            types=["person"] * len(persons) + ["work"] * bool(everywhere),
            values=[*persons, *[everywhere] * bool(everywhere)],
        ),
        links=EventLinks(event=pairs[:, 0], key=pairs[:, 1]),
        vectors=HashingEmbedder(fit(contents)).embed(contents),
    )


def _words(sentence: str) -> set[str]:
    return {word.strip(".,!?'\"[]").removesuffix("'s") for word in sentence.split()}
