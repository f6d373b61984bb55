"""Answers of a model held against the text that they are about: what it does not support is left out, with reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from sag_pipeline.extract.model_keys import ExtractedKey, ExtractedKeys, KeyQuestion, KeysOfEvent
from sag_pipeline.extract.sections import SectionMarks
from sag_pipeline.extract.support import TEXT_WORDS, SupportingText, is_negated
from sag_pipeline.extract.triples import RELATED, ExtractedTriples, TripleQuestion, TriplesOfEvent
from sag_pipeline.llm.known_names import is_named_otherwise, is_written
from sag_pipeline.table import StepInput
from sag_retrieval.core.records import Chunk, Document, Event
from sag_retrieval.language.words import fold, is_cjk, normal_name

UNTAKEN: Final = "of a model's known names not taken"
"""Behind a number in the reason of a document; the status adds these numbers up."""
_LONGEST: Final = 80
_KnownAs = Literal["", "name", "type"]
"""Whether a name was shown as known: not, with another type, or with the same type."""
_PARTS: Final = ("head", "relation", "tail")
_FLAGS: Final = frozenset({"true", "false", "yes", "no", "是", "否"})
_GENERAL: Final = frozenset(
    "is are was were be been has have had of in on at by to from for with as a an and the its it named called known"
    " part member type kind example located situated based place published released written born died related"
    " affiliated associated belongs belong includes include included contains contain consists"
    " 是 为 在 于 有 位于 属于 隶属 隶属于 包括 包含 名为 称为 出生于 卒于 成员 组成部分 有关".split()
)
"""Words of relations that say no more than that two things belong together; no text needs to have them."""


@dataclass(slots=True)
class Refusals:
    """What was refused of a model's answers about one document, each with the reason."""

    found: list[str] = field(default_factory=list)
    untaken: int = 0
    """Known names that a model gave for another name of an event, which stayed a key of its own."""

    def keeps(self, said: str, fault: str) -> bool:
        """Whether something can stay; else it is noted with its fault."""
        if fault:
            shown = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
            self.found.append(f"{shown!r}: {fault}")
        return not fault

    def reason(self, table: str) -> str:
        """How many, with the first; empty if there are none."""
        count = len(self.found)
        said = [f"{count:,} of a model's answers refused, the first: {self.found[0]}"] if count else []
        said += [f"{self.untaken:,} {UNTAKEN}"] if self.untaken else []
        return f"{table}: {'; '.join(said)}" if said else ""


def summary_shown(inputs: StepInput) -> str:
    """The document's summary; empty for a document of one chunk, whose text is shown whole."""
    rows = inputs.tables.get("summaries", ())
    return rows[0].summary if rows and len(inputs.tables["chunks"]) > 1 else ""


def evidence_of(inputs: StepInput, chunk: Chunk, *own: str) -> SupportingText:
    """What a model was shown of a passage: `own` texts such as an event, the passage, headings, title and summary."""
    document: Document = inputs.one("documents")
    above = (chunk.header, chunk.heading, document.title, summary_shown(inputs))
    return SupportingText("\n".join((*own, chunk.text)), *above, language=document.language, document=document.text)


def evidence_of_events(inputs: StepInput, events: Sequence[Event]) -> dict[str, SupportingText]:
    """What the keys and triples of events may be taken from, by event: it, its names, its passage, what is above."""
    chunks = {chunk.chunk_id: chunk for chunk in inputs.tables["chunks"]}
    names: dict[str, list[str]] = {}
    for link in inputs.tables.get("keys", ()):
        names.setdefault(link.event_id, []).append(str(link.key.value))
    return {
        event.event_id: evidence_of(inputs, chunks[event.chunk_id], event.content, *names.get(event.event_id, ()))
        for event in events
    }


def supported_events(events: Sequence[Event], evidence: SupportingText, refused: Refusals) -> list[Event]:
    """The events of a chunk that its passage supports, numbered again (docs/algorithm.md §extraction.31)."""
    kept = [
        event
        for event in events
        if event.start is not None or refused.keeps(event.content, evidence.fault(event.content))
    ]
    return [replace(event, event_index=number) for number, event in enumerate(kept)]


def supported_keys(
    question: KeyQuestion, answer: ExtractedKeys, evidence: Mapping[str, SupportingText], refused: Refusals
) -> ExtractedKeys:
    """The answer without keys that neither event nor passage has; another name that they do have takes their place.

    A known key may be spelled otherwise than in the text, if the event has some of its words, its initials or a short
    form of it; or if it has a name of the other script which the model says is the same, of the same type. `evidence`
    is that of each event, by its id.
    """
    types = question.types
    known = {(types.named(key.key_type), normal_name(key.value)) for one in question.known for key in one.every()}
    kept = []
    for one in answer.events:
        if 1 <= one.event <= len(question.events):
            event, keys = question.events[one.event - 1], []
            for key in one.keys:
                as_types = [key_type for key_type, name in known if name == normal_name(str(key.value))]
                is_same_type = types.named(key.type) in as_types
                known_as: _KnownAs = "type" if is_same_type else "name" if as_types else ""
                found = _supported(key, evidence[event.event_id], event, known_as, refused)
                keys += [found] if found else []
            kept.append(KeysOfEvent(event=one.event, keys=keys))
    return ExtractedKeys(events=kept)


def _supported(
    key: ExtractedKey, evidence: SupportingText, event: Event, known: _KnownAs, refused: Refusals
) -> ExtractedKey | None:
    aliases = [name for name in key.same_as if evidence.names(name)]
    if not isinstance(key.value, str):
        is_right = isinstance(key.value, bool) or evidence.names(f"{key.value:.15g}")
    else:
        is_right = _is_flag(key.value, evidence) or evidence.names(key.value)
        if not is_right and known:
            is_right = is_named_otherwise(key.value, event.content) or (
                known == "type" and _is_said_in_other_script(key.value, aliases, event.content)
            )
    if is_right:
        return key.model_copy(update={"same_as": aliases})
    if aliases:
        refused.untaken += bool(known)
        return key.model_copy(update={"value": aliases[0], "same_as": aliases[1:]})
    refused.keeps(str(key.value), _unnamed(str(key.value), evidence))
    return None


def _is_said_in_other_script(name: str, aliases: Sequence[str], text: str) -> bool:
    """Whether a text has one of these other names in the other script, where letters cannot show that both are one."""
    return any(is_cjk(alias) != is_cjk(name) and is_written(alias, text) for alias in aliases)


def _is_flag(value: str, evidence: SupportingText) -> bool:
    """Whether a value is yes or no, about something that the text has: `true`, `is_listed=true`."""
    name, _, said = fold(value).rpartition("=")
    return said in _FLAGS and (not name or not evidence.lacks(name.replace("_", " ")))


def _unnamed(name: str, evidence: SupportingText) -> str:
    return evidence.lacks(name) or "it is not named in its text"


def supported_triples(
    question: TripleQuestion, answer: ExtractedTriples, evidence: Mapping[str, SupportingText], refused: Refusals
) -> ExtractedTriples:
    """The answer without triples whose head or tail is not named; a relation that is not stated becomes `related_to`.

    `evidence` is that of each event, by its id.
    """
    kept = []
    for one in answer.events:
        if 1 <= one.event <= len(question.events):
            event = question.events[one.event - 1]
            own = evidence[event.event_id]
            triples = [
                [parts[0], parts[1] if _is_stated(parts[1], event, own) else RELATED, parts[2]]
                for parts in one.triples
                if len(parts) == len(_PARTS)
            ]
            named = [
                parts
                for parts in triples
                if all(refused.keeps(name, "" if own.names(name) else _unnamed(name, own)) for name in parts[::2])
            ]
            kept.append(TriplesOfEvent(event=one.event, triples=named))
    return ExtractedTriples(events=kept)


def _is_stated(relation: str, event: Event, evidence: SupportingText) -> bool:
    relation = relation.replace("_", " ")
    rest = " ".join(word for word in fold(relation).split() if word not in _GENERAL)
    is_said = not rest or not evidence.lacks(rest)
    return is_said and is_negated(event.content) <= is_negated(relation)


def evidence_of_text(document: Document) -> SupportingText:
    """What a summary or title of a text may be taken from."""
    return SupportingText(document.text, document.title, language=document.language)


def supported_text(text: str, evidence: SupportingText, refused: Refusals) -> bool:
    """Whether a summary or title that a model wrote says what the text does that it is about."""
    return refused.keeps(text, evidence.lacks(text, TEXT_WORDS))


def supported_sections(answer: SectionMarks, evidence: SupportingText, refused: Refusals) -> SectionMarks:
    """The sections of a window, without the titles that the document does not support."""
    kept = [
        mark if supported_text(mark.title, evidence, refused) else mark.model_copy(update={"title": ""})
        for mark in answer.sections
    ]
    return answer.model_copy(update={"sections": kept})
