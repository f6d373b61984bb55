"""What holds of what documents said: the sentence said last, or first of the past, and what others say in its place."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.cited import Cited
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart
from sag_retrieval.ask.sentences import PartAnswer, Sentence, quotable_sentences
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.values import STRICT, numbers_in
from sag_retrieval.language.data import asking, patterns
from sag_retrieval.language.spans import UNCONFIRMED, first_day, is_weak, subject_terms
from sag_retrieval.language.words import fold, is_cjk
from sag_retrieval.search.revised import HitRevision, asked_day, asks_past, wants_earlier

_EQUAL = 0.95
"""Share of the best sentence's coverage from which on another one answers as well."""
_RETOLD = 0.8
"""Share of the best sentence's words that a later one holds for it to tell the same and what became of it."""
_MOST_BESIDE: Final = 8
"""Words beside those of the question in a sentence that tells a value and little else; Chinese pairs count the same."""
_FROM_QUESTION: Final = 0.5
"""Share of the question's terms that such a sentence holds at least."""


def newest_first(
    question: str, ranked: Sequence[Sentence], hits: Sequence[FoundPassage], names: frozenset[str]
) -> list[Sentence]:
    """Sentences, best first, in which of those that answer equally well the one that was said last comes first.

    For a question about the past it is the one that was said first; for one about a day, if no sentence names it, the
    last one by that day. Rumours, proposals, quotations and drafts stand behind what is firm. Sentences that nobody
    knows a day of keep their place; those without the `names` of the question answer another one.

    Source: docs/algorithm.md §answers.10.
    """
    if not ranked:
        return list(ranked)
    best, is_past = ranked[0], asks_past(question)
    equal = [*_equal(ranked, hits, names, is_past=is_past)]
    firm = [s for s in equal if not _is_weak(s, hits, is_past=is_past)]
    dated = [(first_day(said), s) for s in firm if (said := _said_of(s, hits))]
    if len({said for said, _ in dated}) > 1:
        wanted = _wanted_day(question, [said for said, _ in dated], [s.text for s in firm], is_past=is_past)
        chosen = next(s for said, s in dated if said == wanted)
    else:
        chosen = firm[0] if firm else best
    if chosen is best:
        return list(ranked)
    return [replace(chosen, score=best.score), *(s for s in ranked if s is not chosen)]


def _equal(
    ranked: Sequence[Sentence], hits: Sequence[FoundPassage], names: frozenset[str], *, is_past: bool
) -> Iterator[Sentence]:
    """Sentences that answer as well as the best one; of the present also later ones that tell all of it and more."""
    best, said = ranked[0], first_day(_said_of(ranked[0], hits) or "9999")
    for s in ranked:
        is_about = s.is_of_kind >= best.is_of_kind and s.terms & names >= best.terms & names
        is_equal = s.focus >= _EQUAL * best.focus and s.coverage >= _EQUAL * best.coverage
        is_retold = not is_past and len(s.terms & best.terms) >= _RETOLD * len(best.terms) < _RETOLD * len(s.terms)
        if is_about and (is_equal or (is_retold and first_day(_said_of(s, hits) or "0001") > said)):
            yield s


def _wanted_day(question: str, days: Sequence[str], texts: Sequence[str], *, is_past: bool) -> str:
    day = asked_day(question)
    before = [said for said in days if said <= day]
    if before and not any(day[:4] in text for text in texts):
        return max(before)
    return (min if is_past else max)(days)


def others_said(
    part: QuestionPart, ranked: Sequence[Sentence], hits: Sequence[FoundPassage]
) -> list[tuple[str, HitRevision]]:
    """What other documents say in place of the first of the sentences: another value for the same question.

    Two that were said on one day, or nobody knows when, contradict each other; else the later one updates the other.
    Each comes with the document of the first sentence. Source: docs/algorithm.md §answers.10.
    """
    best, told = ranked[0], dict[str, HitRevision]()
    hit, own, said = hits[best.place], _beside(best, part), _said_of(best, hits)
    if best.coverage < _FROM_QUESTION or not own or _is_weak(best, hits, is_past=True):
        return []
    for s in ranked[1:]:
        other, theirs, day = hits[s.place], _beside(s, part), _said_of(s, hits)
        is_other = (
            other.document_id != hit.document_id and bool(theirs) and not own & theirs and bool(day) == bool(said)
        )
        is_equal = s.is_of_kind and s.focus >= _EQUAL * best.focus and s.coverage >= _EQUAL * best.coverage
        is_told = day == said or (part.kind != "statement" and bool(day and said))  # what somebody likes may be much
        if not (is_told and is_other and is_equal) or _is_weak(s, hits, is_past=True) or s.text in told:
            continue
        told[s.text] = HitRevision(
            kind="updates" if day != said else "contradicts",
            own_value="",
            other_value="",
            event_id="",
            start=hit.start + best.start,
            end=hit.start + best.end,
            said=day,
            other_event_id="",
            document_id=other.document_id,
            chunk_id=other.chunk_id,
            title=other.title,
            quote=s.text,
            other_start=other.start + s.start,
            other_end=other.start + s.end,
            evidence="",
            confidence=0.0,
            own_said=said,
        )
    return [(hit.document_id, one) for one in told.values()]


def _beside(sentence: Sentence, part: QuestionPart) -> frozenset[str]:
    """What a sentence says beside the question: of numbers and days the digits; empty if it says much else."""
    words = subject_terms(sentence.text) - part.terms
    digits = frozenset(term for term in sentence.terms - part.terms if any(map(str.isdigit, term)))
    if len(words) > _MOST_BESIDE:
        return frozenset()
    return digits if part.kind in STRICT and part.kind != "name" else words | digits


def _said_of(sentence: Sentence, hits: Sequence[FoundPassage]) -> str:
    """When a sentence of a passage was said: as its event, else as all events of the passage; empty: unknown."""
    events = [(fold(event.content), event.said or "") for event in getattr(hits[sentence.place], "events", ())]
    text = fold(sentence.text)
    own = {said for content, said in events if content in text or text in content} or {said for _, said in events}
    return next(iter(own)) if len(own) == 1 else ""


def _is_weak(sentence: Sentence, hits: Sequence[FoundPassage], *, is_past: bool) -> bool:
    hit = hits[sentence.place]
    return is_weak(sentence.text, hit.title, hit.document_id, is_past=is_past)


_SAID = {"en": "“{title}”{day} said {value} [{n}]", "zh": "《{title}》{day}曾说{value}[{n}]"}
_NOW = {"en": "“{title}”{day} says {value} [{n}]", "zh": "《{title}》{day}说{value}[{n}]"}
_UNSURE = {"en": "unconfirmed: “{title}”{day} says {value} [{n}]", "zh": "未经证实：《{title}》{day}称{value}[{n}]"}
_DISAGREE = {"en": "the documents disagree: {said}", "zh": "文档说法不一：{said}"}
_TITLED = {"en": "“{title}”{day}", "zh": "《{title}》{day}"}
_DAY = {"en": " of {}", "zh": "（{}）"}
_MOST_TOLD = 3
"""Other statements that stand beside one at most."""


def standing(answer: PartAnswer, question: str) -> PartAnswer:
    """The answer with each sentence that does not hold, or for a question about the past is not meant, exchanged.

    A sentence is exchanged for the one that revised it only where its passage was found too: a restriction may hide it.

    Source: docs/algorithm.md §answers.10.
    """
    asked = asking("career").sub(" ", question)  # where somebody worked before is no question about what held before
    kept: dict[tuple[int, int], Sentence] = {}
    for sentence in (_exchanged(each, answer.hits, asked) for each in answer.sentences):
        kept.setdefault((sentence.place, sentence.start), sentence)
    return replace(answer, sentences=tuple(kept.values()))


def _exchanged(sentence: Sentence, hits: Sequence[FoundPassage], question: str) -> Sentence:
    seen = {(sentence.place, sentence.start)}
    while True:
        hit = hits[sentence.place]
        start, end = hit.start + sentence.start, hit.start + sentence.end
        steps = [
            one
            for name in ("revised_by", "revises")
            for one in getattr(hit, name, ())
            if _is_told(one, hit, start, end)
            and _is_step(one, name, question)
            and not _is_of_other_part(one, sentence.text, question)
        ]
        others = [other for one in steps if (other := _sentence_of(one, sentence, hits))]
        if not others or (others[0].place, others[0].start) in seen:
            return sentence
        sentence = others[0]
        seen.add((sentence.place, sentence.start))


def _is_step(one: HitRevision, name: str, question: str) -> bool:
    """Whether the other statement is meant: it corrects this one, or the question itself names what this one says."""
    if one.kind == "contradicts":
        return one.evidence == UNCONFIRMED and name == "revised_by" and one.is_weak
    if one.own_value and fold(one.own_value) in fold(question):
        return True
    if one.kind == "corrects" and not asks_past(question):
        return name == "revised_by"  # what was wrong held at no time
    if name == "revised_by":
        return not wants_earlier(question, one.own_said, one.said)
    return wants_earlier(question, one.said, one.own_said)


def _is_of_other_part(one: HitRevision, text: str, question: str) -> bool:
    """Whether another number of the sentence is asked for: more words of the question stand beside that one alone."""
    clauses = [clause for clause in patterns("all")["clause_of_list"].split(text) if numbers_in(clause)]
    own, others = list[frozenset[str]](), list[frozenset[str]]()
    for clause in clauses:
        (own if one.own_value and one.own_value in clause else others).append(subject_terms(clause))
    if not own or not others:
        return False
    asked, beside = subject_terms(question), frozenset().union(*own)
    return max(len(asked & (each - beside)) for each in others) > len(asked & (beside - frozenset().union(*others)))


def _is_told(one: HitRevision, hit: FoundPassage | None, start: int, end: int) -> bool:
    """Whether a stretch of a document is of the revised statement, and says its value if any stretch of it does."""
    if one.start >= end or start >= one.end:
        return False
    value, first = fold(one.own_value), hit.start if hit else 0
    statement, stretch = (
        fold(hit.text[max(0, since - first) : until - first]) if hit else ""
        for since, until in ((one.start, one.end), (start, end))
    )
    return value in stretch or value not in statement


def _sentence_of(one: HitRevision, sentence: Sentence, hits: Sequence[FoundPassage]) -> Sentence | None:
    """The sentence of the other statement with its value, in a passage that was found."""
    for place, hit in enumerate(hits):
        if hit.document_id != one.document_id or not (hit.start <= one.other_start < hit.start + len(hit.text)):
            continue
        inside = [
            each
            for each in quotable_sentences(place, hit.text, hit.title)
            if hit.start + each.start < one.other_end and one.other_start < hit.start + each.end
        ]
        with_value = [each for each in inside if fold(one.other_value) in fold(each.text)]
        if inside:
            best = (with_value or inside)[0]
            return replace(best, score=sentence.score, coverage=sentence.coverage, focus=sentence.focus)
    return None


def is_corrected(session: Session, text: str) -> bool:
    """Whether a number that a text gives is one that a statement of the question's passages corrects."""
    given = numbers_in(text) - numbers_in(session.question)
    hits = session.find(session.question).hits if given else ()
    corrections = (one for hit in hits for one in getattr(hit, "revised_by", ()) if one.kind == "corrects")
    return any(given & numbers_in(one.own_value) for one in corrections)


def told(
    question: str, cited: Cited, hits: Sequence[FoundPassage], others: Sequence[tuple[str, HitRevision]] = ()
) -> Cited:
    """A cited text that tells, behind each statement that revises or contradicts others, what those say.

    `… at 27 % [1] (“Slides” of 2025-05-20 said 31 % [2])`. `others` is what else is said in place of a statement, each
    with the document of that.
    """
    language = "zh" if is_cjk(question) else "en"
    text, citations = cited.text, list(cited.citations)
    for citation in cited.citations:
        marks = []
        for one, form in _others(citation, hits, others):
            known = next((c for c in citations if _is_of(c, one)), None)
            if known and known.marker <= len(cited.citations) and form is not _DISAGREE:
                continue
            if known is None:
                place = (one.chunk_id, one.document_id, one.title, one.other_start, one.other_end)
                known = Citation(len(citations) + 1, *place, one.quote)
                citations.append(known)
            day = _DAY[language].format(one.said) if one.said else ""
            wording = _NOW if form is _DISAGREE else form
            value = one.other_value or one.quote
            shown = wording[language].format(title=one.title, day=day, value=value, n=known.marker)
            marks.append(_DISAGREE[language].format(said=shown) if form is _DISAGREE else shown)
        if marks:
            marks = [*_own(citation, hits, language, others), *marks]
            mark, joint = f"[{citation.marker}]", "；" if language == "zh" else "; "
            added = f"（{joint.join(marks)}）" if language == "zh" else f" ({joint.join(marks)})"
            text = text.replace(mark, mark + added, 1)
    return replace(cited, text=text, citations=tuple(citations))


def _own(
    citation: Citation, hits: Sequence[FoundPassage], language: str, others: Sequence[tuple[str, HitRevision]]
) -> list[str]:
    """The title of the quoted document and when it said so, where that is known."""
    both = (*_revisions(citation, hits, "revises", others), *_revisions(citation, hits, "revised_by", ()))
    said = next((one.own_said for one in both if one.own_said), "")
    return [_TITLED[language].format(title=citation.title, day=_DAY[language].format(said))] if said else []


def _others(
    citation: Citation, hits: Sequence[FoundPassage], others: Sequence[tuple[str, HitRevision]]
) -> list[tuple[HitRevision, dict[str, str]]]:
    """What a quotation revises, or for the past what revised it, and what contradicts it; each document once."""
    found: dict[str, tuple[HitRevision, dict[str, str]]] = {}
    for name, more in (("revises", ()), ("revised_by", ()), ("", others)):
        for one in _revisions(citation, hits, name, more):
            is_later = name == "revised_by" or (not name and one.said > one.own_said)
            form = _UNSURE if one.evidence == UNCONFIRMED else _NOW if is_later else _SAID
            form = _DISAGREE if one.kind == "contradicts" and one.evidence != UNCONFIRMED else form
            found.setdefault(one.document_id, (one, form))
    return sorted(found.values(), key=lambda each: each[1] is _UNSURE)[:_MOST_TOLD]


def _revisions(
    citation: Citation, hits: Sequence[FoundPassage], name: str, others: Sequence[tuple[str, HitRevision]]
) -> list[HitRevision]:
    """The revisions of a quotation that its passage has under a name, and those that were found beside it."""
    of_document = (hit for hit in hits if hit.document_id == citation.document_id)
    hit = next((each for each in of_document if each.start <= citation.start < each.start + len(each.text)), None)
    found = (*getattr(hit, name, ()), *(one for document, one in others if document == citation.document_id))
    return [one for one in found if _is_told(one, hit, citation.start, citation.end)]


def _is_of(citation: Citation, one: HitRevision) -> bool:
    is_there = citation.start < one.other_end and one.other_start < citation.end
    return citation.document_id == one.document_id and is_there
