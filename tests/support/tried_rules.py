"""Every rule that reads a text, by name, as a function of the text alone: what the tests of growth try."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.events import EventsOfPassage, ExtractedEvents, events_from_reply, given_events
from sag_pipeline.extract.headers import FULL_HEADER, chunk_header
from sag_pipeline.extract.keys import make_key
from sag_pipeline.extract.model_keys import ExtractedKey, ExtractedKeys, KeysOfEvent, keys_from_reply
from sag_pipeline.extract.name_matching import bare_name
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys, read_mentions
from sag_pipeline.extract.rules.names import aliases
from sag_pipeline.extract.rules.relations import derive_triples
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.extract.sections import section_requests, sections_from_replies
from sag_pipeline.extract.summaries import summarise
from sag_pipeline.extract.triples import read_triples
from sag_pipeline.extract.typed_values import ValueRefused, typed_keys
from sag_pipeline.importers.knowledge_graph import events_of_graph, merge_graphs, spelling_in
from sag_pipeline.importers.records import event_documents, openie_documents
from sag_pipeline.sources.decoding import decode
from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.cited import Cited, cite, merge_answers, support
from sag_retrieval.ask.fast import extractive_answer
from sag_retrieval.ask.plan import DraftPlan, check_plan, fill, rename_marks
from sag_retrieval.ask.question import split_question
from sag_retrieval.ask.sentences import best_sentences, sentence_for
from sag_retrieval.core.errors import ModelError, SagError
from sag_retrieval.core.records import Chunk, Document, Event
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.evaluation.metrics import accuracy, context_recall, evidence_coverage, f1, rouge_l
from sag_retrieval.language.amounts import read_amount
from sag_retrieval.language.dates import dates
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.layout import logical_lines, marker_length
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.structured import read_answer
from sag_retrieval.rag.generate import central_sentences
from sag_retrieval.release.where import compile_where
from sag_retrieval.reports.citations import cut
from sag_retrieval.search.result import Hit
from tests.support.attacks import modules
from tests.support.kept_results import forget

Rule = Callable[[str], object]
_TEXTS = frozenset("text question query line content name title value word sql relation written".split())
_NO_RULES = frozenset(
    {
        "sag_pipeline.engines.tasks",
        "sag_retrieval.cli.choices",
        "sag_retrieval.language.data",
        "sag_retrieval.models.open",
        "sag_retrieval.search.registry",
        "sag_retrieval.release.sandbox",
    }
)
"""Modules whose names stand for a task, an option, an expression, a file, a model or a method; SQL is refused over 4,000 characters."""


class _Written(BaseModel):
    text: str
    numbers: list[int] = []


def rules() -> dict[str, Rule]:
    """Public functions that need one text and nothing else, and what is put together below."""
    return {name: tolerant(rule) for name, rule in {**dict(_found()), **_COMPOSED}.items()}


def _found() -> Iterator[tuple[str, Rule]]:
    for module in modules():
        for name, function in vars(module).items():
            if name.startswith("_") or getattr(function, "__module__", "") != module.__name__:
                continue
            bare = inspect.unwrap(function) if callable(function) else None
            if inspect.isfunction(bare) and module.__name__ not in _NO_RULES and _needs_a_text(bare):
                yield f"{module.__name__}.{name}", _read_out(function)


def _needs_a_text(function: Callable[..., object]) -> bool:
    wanted = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return len(wanted) == 1 and wanted[0].name in _TEXTS and wanted[0].annotation is str


def _read_out(function: Rule) -> Rule:
    def run(text: str) -> object:
        found = function(text)
        return list(found) if isinstance(found, Iterator) else found

    return run


def tolerant(rule: Rule) -> Rule:
    """The rule, with every kept result forgotten before, and its refusals taken for results."""

    def run(text: str) -> object:
        forget()
        with suppress(SagError, ValueError):
            return rule(text)
        return None

    return run


def document(text: str, extraction: str | None = None) -> Document:
    """A document of this text."""
    return Document("d", "s", "A title", text, "zh" if "一" in text else "en", extraction=extraction)


def _events(text: str) -> list[Event]:
    own = document(text)
    chunks = split_chunks(own, offline_sections(own))
    return [event for events in offline_events(own, chunks) for event in events]


def _keys(text: str) -> object:
    own = document(text)
    return offline_keys(own, _events(text))


def _triples(text: str) -> object:
    own, events = document(text), _events(text)
    return derive_triples("d", events, offline_keys(own, events))


def _given(text: str) -> object:
    parts = _parts(text)
    raw = [
        {"content": part, "keys": [{"type": "topic", "value": part}], "triples": [[part, "is", "a b"]]}
        for part in parts
    ]
    own = document("\n\n".join(parts), json.dumps(raw))
    return given_events(own, split_chunks(own, offline_sections(own)))


def _parts(text: str, size: int = 24) -> list[str]:
    """The text in many small pieces, no two of them equal."""
    return [f"{number} {text[start : start + size]}" for number, start in enumerate(range(0, len(text), size))]


def _sections(text: str) -> object:
    own = document(text)
    requests = section_requests(own)
    return sections_from_replies(own, [ModelError("none")] * len(requests))


def _hit(text: str) -> Hit:
    return Hit(1, 1.0, "c", "d", "A title", text, (), (), 0, 0, len(text))


def _event(content: str) -> Event:
    return Event("e", "d", "c", 0, content, "A title")


def _chunk(text: str) -> Chunk:
    own = document(text)
    return split_chunks(own, offline_sections(own))[0]


def _openie(text: str) -> object:
    parts = _parts(text)
    rows = [
        {"id": "a", "text": "\n\n".join(parts), "entities": parts, "triples": [[part, "is", part] for part in parts]}
    ]
    return [one.line() for one in openie_documents(rows)]


def _event_records(text: str) -> object:
    parts = _parts(text)
    events = [{"Event": part, "Entity": [part]} for part in parts]
    rows = [
        {
            "text": text,
            "events": events,
            "entity_relations": [{"Head": p, "Relation": "is", "Tail": "x"} for p in parts],
        }
    ]
    return [one.line() for one in event_documents(rows)]


def _graph(text: str) -> dict[str, Any]:
    triples = [{"head": part, "relation": "is", "tail": "x", "doc_id": "d"} for part in _parts(text)]
    return {"doc_id": "d", "triples": triples, "entities": [{"name": part} for part in _parts(text)]}


def _spelt(text: str) -> dict[str, Any]:
    """One entity in many spellings."""
    names = [
        "".join(c.upper() if n >> i & 1 else c for i, c in enumerate("abcdefghijklmno")) for n in range(len(text) // 24)
    ]
    return {"doc_id": "d", "triples": [{"head": name, "relation": "is", "tail": "x"} for name in names]}


def _plan(text: str) -> object:
    parts = _parts(text)
    nodes = [{"id": f"q{n}", "question": f"{part} #q{n - 1}"} for n, part in enumerate(parts)]
    edges = [{"source": f"q{n}", "target": f"q{n + 1}"} for n in range(len(parts))]
    draft = DraftPlan.model_validate({"nodes": nodes, "edges": edges})
    return check_plan(draft, question=text, limit=8)


def _wrong_items(text: str) -> object:
    rows = ", ".join(json.dumps({"text": part, "more": 1}) for part in _parts(text))
    return read_answer(f'{{"rows": [{rows}]}}', _Rows)


class _Rows(BaseModel):
    model_config = {"extra": "forbid"}

    rows: list[_Written]


def _keys_of_model(text: str) -> object:
    keys = [ExtractedKey(type=part, value=part, same_as=[part[::-1]]) for part in _parts(text)]
    answer = ExtractedKeys(events=[KeysOfEvent(event=1, keys=keys)])
    return keys_from_reply(document(text), [_event("x")], answer)


def _value_of_model(text: str) -> None:
    for key_type in default_schema().types:
        with suppress(ValueRefused):
            typed_keys(key_type, text)


def _events_of_model(text: str) -> object:
    answer = ExtractedEvents(passages=[EventsOfPassage(passage=1, events=[*_parts(text[:4_000]), text])])
    return events_from_reply(document(text), _chunk("A b. " + text), answer)


def _joined(text: str) -> object:
    parts = [Cited(f"{part} [1]", (Citation(1, "c", "d", "t", n, n + 1, part),)) for n, part in enumerate(_parts(text))]
    return merge_answers("who", parts)


def _cut(text: str) -> object:
    marks: Mapping[tuple[int, int], int] = {(at, at + 9): at for at in range(0, len(text) - 9, 400)}
    return cut(text, dict(marks))


_COMPOSED: dict[str, Rule] = {
    "sections without a model": lambda text: offline_sections(document(text)),
    "sections of a model that failed": _sections,
    "chunks": lambda text: split_chunks(document(text), offline_sections(document(text))),
    "events": _events,
    "keys": _keys,
    "keys of German": lambda text: read_mentions(text, "de"),
    "keys of Russian": lambda text: read_mentions(text, "ru"),
    "dates by names of months": lambda text: [list(dates(text, language)) for language in ("de", "ko")],
    "dates of places": lambda text: with_context_dates(document(text), _events(text)),
    "a language": detect_language,
    "triples": _triples,
    "given events": _given,
    "other names": lambda text: list(aliases(text, read_mentions(text)[0])),
    "a summary": lambda text: summarise(document(text)),
    "central sentences": lambda text: central_sentences(text, 500),
    "a header": lambda text: chunk_header(text, text, text, text, "en", FULL_HEADER),
    "marks of lines": lambda text: [marker_length(text, line) for line in logical_lines(text)],
    "bytes of a text": lambda text: decode(text.encode("utf-8", "surrogatepass")),
    "bytes of a legacy text": lambda text: decode(text.encode("gb18030", "replace") + b"\xff"),
    "a key": lambda text: make_key(text, text, text),
    "a key of a model": _value_of_model,
    "an amount": lambda text: [read_amount(part) for part in (text, *_parts(text))],
    "a key's type": default_schema().default.named,
    "keys of a reply": _keys_of_model,
    "events of a reply": _events_of_model,
    "triples of a reply": lambda text: read_triples(
        _event(text), (), [[part, part[::-1], "x"] for part in _parts(text)]
    ),
    "a bare name": lambda text: [bare_name(text, kind) for kind in ("topic", "organisation", "place")],
    "a spelling": lambda text: spelling_in(text[-100:], text),
    "openie records": _openie,
    "event records": _event_records,
    "a graph": lambda text: events_of_graph(_graph(text)),
    "graphs merged": lambda text: merge_graphs([_graph(text)]),
    "a graph of one name": lambda text: merge_graphs([_spelt(text)]),
    "a vector": lambda text: HashingEmbedder().embed([text]),
    "a reply": lambda text: read_answer(text, _Written),
    "a reply's text": lambda text: read_answer(json.dumps({"text": text}) + text, _Written),
    "a reply's broken text": lambda text: read_answer('{"text": "' + text, _Written),
    "a reply's list": lambda text: read_answer('{"numbers": [' + text, _Written),
    "a reply's wrong items": _wrong_items,
    "sub-questions": lambda text: split_question(text, 8),
    "a plan": _plan,
    "a plan's marks": lambda text: (fill(text, {"q1": "a"}), rename_marks(text, str.upper)),
    "citations": lambda text: cite("who", text, [1], [_hit("A b. C d.")]),
    "a cited text": lambda text: cite("who is a", "a [1]", [1], [_hit(text)]),
    "support": lambda text: support("who is a", text, [_hit(text)]),
    "quoted sentences": lambda text: best_sentences("who is a 一", [text, text]),
    "a long question": lambda text: best_sentences(text, ["A b. C d."]),
    "a sentence for a claim": lambda text: sentence_for(text, text, text),
    "a fast answer": lambda text: extractive_answer("who is a 一", [_hit(text)]),
    "parts of an answer": _joined,
    "a quotation": _cut,
    "a field's name": lambda text: compile_where({text: 1}),
    "a field's value": lambda text: compile_where({"title": text}),
    "fields": lambda text: compile_where({f"metadata.{n}": part for n, part in enumerate(_parts(text))}),
    "a list of values": lambda text: compile_where({"title__in": _parts(text)}),
    "an answer measured": lambda text: (f1(text, text), accuracy(text, text), context_recall(text, text)),
    "a longest common sequence": lambda text: rouge_l(text, text),
    "evidence": lambda text: evidence_coverage([text], [text], len(text)),
}
