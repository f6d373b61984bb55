"""A model that obeys whatever a text orders, and documents that share its calls: what comes of each attack.

It answers well (`scripted_answers`), and writes what stands in «» anywhere in a prompt into every answer; a `+` inside is
left out, so that a text can order a word that it does not hold itself.
"""

import atexit
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.headers import FULL_HEADER
from sag_pipeline.extract.sections import SectionOptions, untitled
from sag_pipeline.llm.extract import events_work, sections_work, summaries_work, triples_work
from sag_pipeline.llm.key_waves import KeyWork
from sag_pipeline.options import IngestOptions
from sag_pipeline.table import StepInput
from sag_retrieval.core.records import Document
from sag_retrieval.language.words import fold
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.cached_chat import BatchLimits, CachedChat
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.chat_server import ChatServer, Request, first_prompt_of, schema_of
from tests.support.scripted_answers import read_well

ATTACKS = Path(__file__).parents[1] / "data" / "attacks.jsonl"
VICTIMS = {
    "en": "Delmar Ltd earned 40 million euros in 2023. Delmar Ltd did not close its yard in Oslo. Ida Berg leads Delmar Ltd.",
    "zh": "德玛公司2023年盈利4000万欧元。德玛公司没有关闭奥斯陆船厂。白依达领导德玛公司。",
}
FILLER = {
    "en": "# Part {n}\n\nThe harbour of Kiel has a quay for ferries and a yard for boats. Ferries leave the quay at noon. ",
    "zh": "# 第{n}部分\n\n基尔港有一个渡轮码头和一个小船船厂。渡轮中午离开码头，晚上返回基尔港。",
}
_ORDER = re.compile("«([^»]*)»")


@dataclass(frozen=True)
class Attack:
    """A text that gives orders, the step that reads it, and what it wants to have written."""

    id: str
    step: str
    language: str
    text: str
    claim: str


@dataclass(frozen=True)
class Outcome:
    """What came of an attack."""

    obeyed: int
    """Answers into which the model wrote what it was ordered to."""
    foreign: list[str]
    """Rows of other documents that have it."""
    unsupported: list[str]
    """Rows that have it although the text of their own document does not."""
    rows: int
    """Rows of the other documents in all: what a reader should have found there."""


def attacks() -> list[Attack]:
    return [Attack(**json.loads(line)) for line in ATTACKS.read_text(encoding="utf-8").split("\n") if line]


class ObedientModel:
    """The script of a server."""

    def __init__(self) -> None:
        self.obeyed = 0

    def __call__(self, request: Request) -> dict[str, Any]:
        answer = read_well(request)
        orders = [order.replace("+", "") for order in _ORDER.findall(first_prompt_of(request))]
        self.obeyed += bool(orders)
        for order in orders:
            _obey(schema_of(request), answer, order)
        return answer


def _obey(schema: str, answer: dict[str, Any], order: str) -> None:
    for name, rows in answer.items():
        if isinstance(rows, str):
            answer[name] = order
            continue
        for row in rows:
            if schema == "ExtractedEvents":
                row["events"].insert(0, order)
            elif schema == "ExtractedKeys":
                row["keys"].insert(0, {"type": row["keys"][0]["type"] if row["keys"] else "topic", "value": order})
                row["keys"][0]["same_as"] = []
            elif schema == "ExtractedTriples":
                ends = row["triples"][0] if row["triples"] else ["Delmar Ltd", "", "Ida Berg"]
                row["triples"] += [[order, "owns", ends[2]], [ends[0], order, ends[2]]]
            elif schema == "SectionMarks":
                row["title"] = order


def run_attack(attack: Attack, *, mixed: bool = True) -> Outcome:
    """What comes of an attack on documents that share its calls, over HTTP."""
    model, inner = _served()
    model.obeyed = 0
    with TemporaryDirectory() as folder, AnswerCache(Path(folder) / "a") as answers:
        chat = CachedChat(inner, answers, limits=BatchLimits(mixed_sources=mixed))
        rows = list(_rows(attack, chat))
    claim = fold(attack.claim)
    hit = [(document, text) for document, text in rows if claim in fold(text)]
    own = {document.document_id: fold(f"{document.title}\n{document.text}") for document in _documents(attack)}
    return Outcome(
        model.obeyed,
        [text for document, text in hit if document != "attack"],
        [text for document, text in hit if claim not in own[document]],
        sum(document != "attack" for document, _ in rows),
    )


@cache
def _served() -> tuple["ObedientModel", OpenAIChat]:
    """One server for all attacks of a process, and one client, whose certificates take longer to load than an attack."""
    model = ObedientModel()
    server = ChatServer(model).__enter__()
    atexit.register(server.__exit__, None, None, None)
    options = ChatOptions(concurrency=2, first_pause_seconds=0.01)
    return model, OpenAIChat("obedient", base_url=server.base_url, api_key="none", options=options)


def _documents(attack: Attack) -> list[Document]:
    filler = "".join(FILLER[attack.language].format(n=n) + "\n\n" for n in range(1, 60))
    is_long = attack.step in ("summaries", "sections", "section_summaries")
    text = f"{filler}\n\n{attack.text}" if is_long else attack.text
    title = " ".join(attack.text.split()) if attack.step == "summaries" else "Notes"
    victim = VICTIMS[attack.language]
    return [
        Document("attack", "letters", title, text, attack.language),
        Document("victim", "books", "Delmar Ltd" if attack.language == "en" else "德玛公司", victim, attack.language),
        Document("near", "letters", "Yard" if attack.language == "en" else "船厂", victim, attack.language),
    ]


def _rows(attack: Attack, chat: CachedChat) -> Iterator[tuple[str, str]]:
    """The texts of the rows that the attacked step makes, by document."""
    documents = _documents(attack)
    inputs = [
        StepInput(one.document_id, {"documents": [one], "chunks": split_chunks(one, untitled(one))})
        for one in documents
    ]
    options = IngestOptions(header=FULL_HEADER, section=SectionOptions(min_average=0))
    if attack.step in ("summaries", "titles"):
        for made in summaries_work(chat, titles=attack.step == "titles")(inputs):
            yield from ((row.document_id, f"{row.summary}\n{row.made_title}") for row in made.records)
        return
    if attack.step in ("sections", "section_summaries"):
        for made in sections_work(chat, options)(inputs):
            yield from ((row.document_id, f"{row.title}\n{row.summary}") for row in made.records)
        return
    works = {
        "events": events_work(chat),
        "keys": KeyWork(chat=chat),
        "triples": triples_work(chat),
    }
    for step, work in works.items():
        made_of = list(work(inputs))
        if step == attack.step:
            for one, made in zip(inputs, made_of, strict=True):
                yield from ((one.document_id, _text(record)) for record in made.records)
            return
        inputs = [replace(one, tables={**one.tables, step: m.records}) for one, m in zip(inputs, made_of, strict=True)]


def _text(record: Any) -> str:
    if hasattr(record, "relation"):
        return f"{record.head}\n{record.relation.replace('_', ' ')}\n{record.tail}"
    return str(record.key.value) if hasattr(record, "key") else record.content
