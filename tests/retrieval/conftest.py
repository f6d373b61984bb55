"""Small event tables for the tests of reports: own sentences, and real ones where present."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from sag_retrieval.clusters.events import Chunks, Documents, EventLinks, EventTable, Keys
from sag_retrieval.models.hashing import HashingEmbedder, fit
from tests.support import corpora

TOPICS = {
    "en": {
        "Harbour Bridge": [
            "The bridge over the harbour was closed for repairs",
            "Engineers inspected the bridge cables",
        ],
        "City Library": [
            "The library opened a new reading room",
            "Readers borrowed more books from the library",
        ],
        "River Flood": ["The river flooded the lower town", "Volunteers filled sandbags against the flood"],
    },
    "zh": {
        "港湾大桥": ["港湾大桥因维修暂停通行", "工程师检查了大桥的钢缆"],
        "市图书馆": ["图书馆新开放了一间阅览室", "读者从图书馆借阅了更多图书"],
        "洪水": ["河水淹没了下城区", "志愿者装填沙袋抵御洪水"],
    },
}


@dataclass
class Towns:
    """Builds tables of town news: every topic told in several months by several documents."""

    languages: tuple[str, ...] = ("en",)
    months: int = 5
    first_month: int = 1
    dated: bool = True
    day: str = ""
    """Of every month, such as `-05`: days tie events, months do not."""
    titles: dict[str, str] = field(default_factory=dict)

    def table(self) -> EventTable:
        documents, chunks, events, keys, links = [], [], [], {}, []
        for language in self.languages:
            for month in range(self.first_month, self.first_month + self.months):
                identity, date = f"{language}-2024-{month:02}", f"2024-{month:02}{self.day}"
                text, spans = "", []
                for topic, sentences in TOPICS[language].items():
                    for number, sentence in enumerate(sentences):
                        told = f"{sentence}（{month}月）。" if language == "zh" else f"{sentence} in month {month}. "
                        spans.append((topic, number, len(text), len(text) + len(told.rstrip())))
                        text += told
                documents.append((identity, self.titles.get(identity, f"News {identity}"), language))
                chunks.append((f"chunk-{identity}", text, len(documents) - 1))
                for topic, number, start, end in spans:
                    row = len(events)
                    name = f"{identity}-{topic}-{number}"
                    events.append((name, text[start:end], len(chunks) - 1, (start, end), date if self.dated else None))
                    place = ("place", "旧城" if language == "zh" else "Old Town")
                    carried = [("topic", topic), place, ("date", date)]
                    links.extend((row, keys.setdefault(key, len(keys))) for key in carried)
        contents = [event[1] for event in events]
        pairs = np.array(links, dtype=np.int32).reshape(-1, 2)
        return EventTable(
            event_ids=[event[0] for event in events],
            contents=contents,
            chunk=np.array([event[2] for event in events], np.int32),
            spans=np.array([event[3] for event in events], np.int32).reshape(-1, 2),
            dates=[event[4] for event in events],
            chunks=Chunks(
                chunk_ids=[chunk[0] for chunk in chunks],
                texts=[chunk[1] for chunk in chunks],
                document=np.array([chunk[2] for chunk in chunks], np.int32),
            ),
            documents=Documents(
                document_ids=[each[0] for each in documents],
                titles=[each[1] for each in documents],
                languages=[each[2] for each in documents],
            ),
            keys=Keys(types=[kind for kind, _ in keys], values=[value for _, value in keys]),
            links=EventLinks(event=pairs[:, 0], key=pairs[:, 1]),
            vectors=HashingEmbedder(fit(contents)).embed(contents),
        )


@pytest.fixture(scope="session")
def towns() -> Callable[..., EventTable]:
    """Makes a table of town news: `towns(languages=("zh",), months=3)`."""
    return lambda **options: Towns(**options).table()


@pytest.fixture(scope="session")
def dragonball_zh() -> EventTable:
    """Recorded Chinese events of companies and court cases."""
    if not corpora.SHARED.is_dir():
        pytest.skip("needs ../shared/data beside the project")
    return corpora.dragonball("zh")


@pytest.fixture(scope="session")
def carol() -> EventTable:
    """Sentences of A Christmas Carol."""
    if not corpora.SHARED.is_dir():
        pytest.skip("needs ../shared/data beside the project")
    return corpora.carol()
