"""Real events with plain keys: DragonBall (zh, en), A Christmas Carol and LiHua's chats."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from sag_retrieval.clusters.events import Chunks, Documents, EventLinks, EventTable, Keys
from sag_retrieval.language.words import STOP_WORDS, language_of, tokens, words
from sag_retrieval.models.hashing import HashingEmbedder, fit

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
_SENTENCE = re.compile(r"[^。！？；.!?\n]+(?:[。！？；.!?]+[”’\"'」』）)]*|\n|$)")
_CHUNK = 900
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October"]
_MONTHS += ["November", "December"]


@dataclass
class _Builder:
    """Collects documents, chunks, events and keys row by row."""

    documents: list[tuple[str, str, str]] = field(default_factory=list)
    chunks: list[tuple[str, str, int]] = field(default_factory=list)
    events: list[tuple[str, str, int, tuple[int, int], str | None]] = field(default_factory=list)
    keys: dict[tuple[str, str], int] = field(default_factory=dict)
    links: set[tuple[int, int]] = field(default_factory=set)

    def document(self, document_id: str, title: str, text: str) -> list[int]:
        """Chunk rows of a new document."""
        self.documents.append((document_id, title, language_of(text)))
        rows = []
        for index, part in enumerate(_parts(text)):
            rows.append(len(self.chunks))
            self.chunks.append((f"{document_id}#{index}", part, len(self.documents) - 1))
        return rows

    def event(self, content: str, chunk: int, span: tuple[int, int], date: str | None) -> int:
        """Row of a new event."""
        self.events.append((f"e{len(self.events):05}", content, chunk, span, date))
        return len(self.events) - 1

    def link(self, event: int, key_type: str, value: str) -> None:
        """Tie a key to an event."""
        self.links.add((event, self.keys.setdefault((key_type, value), len(self.keys))))

    def table(self) -> EventTable:
        """Everything collected, embedded by the embedder that needs no model."""
        contents = [event[1] for event in self.events]
        pairs = np.array(sorted(self.links), dtype=np.int32).reshape(-1, 2)
        return EventTable(
            event_ids=[event[0] for event in self.events],
            contents=contents,
            chunk=np.array([event[2] for event in self.events], np.int32),
            spans=np.array([event[3] for event in self.events], np.int32).reshape(-1, 2),
            dates=[event[4] for event in self.events],
            chunks=Chunks(
                chunk_ids=[chunk[0] for chunk in self.chunks],
                texts=[chunk[1] for chunk in self.chunks],
                document=np.array([chunk[2] for chunk in self.chunks], np.int32),
            ),
            documents=Documents(
                document_ids=[document[0] for document in self.documents],
                titles=[document[1] for document in self.documents],
                languages=[document[2] for document in self.documents],
            ),
            keys=Keys(types=[kind for kind, _ in self.keys], values=[value for _, value in self.keys]),
            links=EventLinks(event=pairs[:, 0], key=pairs[:, 1]),
            vectors=HashingEmbedder(fit(contents)).embed(contents),
        )


def _parts(text: str) -> Iterator[str]:
    part = ""
    for line in text.splitlines(keepends=True):
        if part and len(part) + len(line) > _CHUNK:
            yield part
            part = ""
        part += line
    if part.strip():
        yield part


def dragonball(language: str, most: int = 10_000) -> EventTable:
    """Recorded events of companies and court cases, tied to the chunk that speaks most like them."""
    documents = pd.read_parquet(SHARED / "dragonball.docs.parquet").query("language == @language")
    recorded = pd.read_parquet(SHARED / "dragonball.events.parquet")
    builder = _Builder()
    for document in documents.itertuples():
        own = recorded[recorded.doc_id == document.doc_id]
        if not len(own) or len(builder.events) >= most:
            continue
        rows = builder.document(document.doc_id, document.name, document.text)
        terms = [set(tokens(builder.chunks[row][1])) for row in rows]
        for event in own.fillna("").itertuples():
            told = set(tokens(f"{event.name}{event.description}"))
            best = max(range(len(rows)), key=lambda index, told=told: len(told & terms[index]))
            text = f"{event.name}：{event.description}" if language == "zh" else f"{event.name}: {event.description}"
            date = _date(event.time)
            row = builder.event(text, rows[best], (-1, -1), date)
            builder.link(row, "organisation", document.name)
            for kind, value in (("topic", event.name), ("section", event.section), ("date", date)):
                if isinstance(value, str) and value:
                    builder.link(row, kind, value)
    return builder.table()


def _date(time: object) -> str | None:
    text = str(time)
    year = re.search(r"(?:19|20)\d\d", text)
    month = re.search(r"(\d{1,2})月", text)
    named = next((place for place, name in enumerate(_MONTHS, 1) if name in text), None)
    number = int(month[1]) if month else named
    return None if not year else f"{year[0]}-{number:02}" if number else year[0]


def carol() -> EventTable:
    """Sentences of A Christmas Carol with the published entities they name as keys."""
    units = pd.read_parquet(SHARED / "graphrag_carol.text_units.parquet").sort_values("human_readable_id")
    entities = pd.read_parquet(SHARED / "graphrag_carol.entities.parquet")
    names = [
        (str(kind).lower() or "thing", title.title(), re.compile(rf"\b{re.escape(title)}\b", re.IGNORECASE))
        for title, kind in zip(entities.title, entities.type, strict=True)
    ]
    builder, seen = _Builder(), set()
    for unit in units.itertuples():
        for row in builder.document(f"unit-{unit.human_readable_id:02}", "A Christmas Carol", unit.text):
            for content, span in sentences(builder.chunks[row][1]):
                carried = [(kind, title) for kind, title, pattern in names if pattern.search(content)]
                if carried and content not in seen and len(content) > 25:
                    seen.add(content)
                    event = builder.event(content, row, span, None)
                    for kind, title in carried:
                        builder.link(event, kind, title)
    return builder.table()


def lihua() -> EventTable:
    """Lines of LiHua's chats: speaker, date and the line's rarest words as keys."""
    chats = pd.read_parquet(SHARED / "lihua_world.docs.parquet")
    lines = [list(re.finditer(r"^(\w[\w-]*): (.+)$", text, re.MULTILINE)) for text in chats.text]
    frequency = Counter(word for found in lines for line in found for word in set(words(line[2])))
    builder = _Builder()
    for chat, found in zip(chats.itertuples(), lines, strict=True):
        day = f"{chat.doc_id[:4]}-{chat.doc_id[4:6]}-{chat.doc_id[6:8]}"
        for row in builder.document(chat.doc_id, f"Chat of {day}", chat.text):
            text = builder.chunks[row][1]
            for line in found:
                at = text.find(line[0])
                if at < 0 or line[1] == "Time" or len(line[2]) < 40:
                    continue
                event = builder.event(line[0], row, (at, at + len(line[0])), day)
                builder.link(event, "person", line[1])
                builder.link(event, "date", day)
                for word in _telling(line[2], frequency):
                    builder.link(event, "tag", word)
    return builder.table()


def _telling(text: str, frequency: Counter[str]) -> Iterable[str]:
    usable = {w for w in words(text) if 3 <= frequency[w] <= 150 and len(w) > 3 and w not in STOP_WORDS}
    return sorted(usable, key=lambda word: (frequency[word], word))[:5]


def sentences(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Sentences with their place in the text."""
    for match in _SENTENCE.finditer(text):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        end = match.end() - (len(match[0]) - len(match[0].rstrip()))
        if end > start:
            yield re.sub(r"\s+", " ", text[start:end]), (start, end)


CORPORA = {
    "dragonball zh": lambda: dragonball("zh"),
    "dragonball en": lambda: dragonball("en"),
    "carol": carol,
    "lihua": lihua,
}
