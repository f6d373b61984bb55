"""Global mode: a question about all documents, by a model over each theme, or by what rows and sentences state."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from pydantic import Field, FiniteFloat

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.modes import MOST_CLOSEST, ModeResult, ask_fast, from_rows
from sag_retrieval.ask.options import AT_ONCE
from sag_retrieval.ask.question import TermWeights, telling_terms
from sag_retrieval.ask.sections import answer_from_sections, without_classes
from sag_retrieval.ask.sentences import sentence_for
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.table_answer import RowSources, answer_from_tables
from sag_retrieval.clusters.events import EventTable
from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.language.words import fold, is_cjk, tokens
from sag_retrieval.llm_writing.lines import (
    Judge,
    NearTheme,
    PromptLine,
    PromptLines,
    Themes,
    best_statements,
    day_of,
    event_lines,
    first_rows,
    in_prompt,
    nearest_themes,
    packed,
    similarities,
)
from sag_retrieval.llm_writing.written import WrittenSentence
from sag_retrieval.models.protocols import AnswerShape, Vectors, embed_queries, estimate_tokens
from sag_retrieval.notebook import snippet
from sag_retrieval.search.revised import said_later
from sag_retrieval.statements.header_classes import CLASSES, HeaderClass, classes_in, row_cells, says
from sag_retrieval.statements.scorer import quotable, worth

_LONGEST_TITLE: Final = 60
"""Characters of a title that says whom a quotation is about."""


class ThemeSources(RowSources):
    """Citations of events, numbered as they are first cited, and the passages that hold them."""

    def __init__(self, session: Session, themes: Themes) -> None:
        assert session.context is not None
        super().__init__(session.context)
        self._session, self._themes = session, themes
        self._row_of = {event_id: row for row, event_id in enumerate(themes.events.event_ids)}
        self._marker: dict[int, int] = {}

    def sentence(self, sentence: CitedSentence) -> str:
        """A sentence with the markers of its events."""
        markers = "".join(dict.fromkeys(f"[{self._cite(self._row_of[each])}]" for each in sentence.event_ids))
        return sentence.text + ("" if is_cjk(sentence.text) else " ") + markers

    def title(self, row: int) -> str:
        """The title of the document of an event."""
        return self._themes.events.documents.titles[int(self._themes.events.document[row])]

    def quotation(self, row: int) -> str:
        """The words of an event with its marker, a row of a table with the names of its columns.

        The title of its document follows where they share no word with it.
        """
        cited, content = self.citations[self._cite(row) - 1], self._themes.events.contents[row]
        is_chinese = is_cjk(cited.quote)
        said = content if len(row_cells(content)) > 1 else snippet(cited.quote)
        marker = f"{'' if is_chinese else ' '}[{self._marker[row]}]"
        if len(cited.title) > _LONGEST_TITLE or not set(tokens(cited.title)).isdisjoint(tokens(cited.quote)):
            return said + marker
        return said + (f"（{cited.title}）" if is_chinese else f" ({cited.title})") + marker

    def line(self, title: str, rows: Sequence[int]) -> str:
        """A title with the words of events."""
        colon, joint = ("：", "") if self._session.is_chinese else (": ", " ")
        return f"{title}{colon}{joint.join(map(self.quotation, rows))}"

    def _cite(self, row: int) -> int:
        if row not in self._marker:
            events = self._themes.events
            passage = self.of_chunk(events.chunks.chunk_ids[int(events.chunk[row])])
            start, end = events.spans[row].tolist()
            if not 0 <= start < end <= len(passage.text):
                start, end = sentence_for(events.contents[row], "", passage.text)
            known = (passage.chunk_id, passage.start + start, passage.start + end)
            same = next((each.marker for each in self.citations if _is_one(known, each)), 0)
            self._marker[row] = same or len(self.citations) + 1
            if not same:
                self.cite(passage, known[1], known[2])
        return self._marker[row]


def _is_one(span: tuple[str, int, int], cited: Citation) -> bool:
    """Whether a span of a chunk and what is cited are the same but for a mark at one end."""
    chunk, start, end = span
    common = min(end, cited.end) - max(start, cited.start)
    return chunk == cited.chunk_id and common > _ONE * max(end - start, cited.end - cited.start)


_ONE: Final = 0.9
_MOST, _MOST_ROWS = 6, 10
"""Sentences, and rows of tables, that answer without a model."""
_OF_A_DOCUMENT: Final = 2
"""Sentences of one document."""
_LEAST: Final = 0.5
"""Weighted share of the question's other words that a row or a sentence holds with its title."""
_ALIKE: Final = 0.6
"""Common share of the terms of two sentences that say the same."""
_ANSWERED: Final[frozenset[HeaderClass]] = frozenset(CLASSES) - {"amount", "level"}
"""Classes whose rows answer a question that names them; amounts stand in too many tables to be asked for alone."""


def stated_rows(events: EventTable, question: str, weigh: TermWeights, language: str) -> list[int]:
    """The events that state what a question asks all documents for: rows of tables, then sentences that can be quoted.

    `What are the main risks?` asks for rows with a column of risks, and for sentences that speak of one; a question
    that names no such class for sentences that hold its words. Events in the language of the question alone, if it has
    any; none where the question asks what all is about. Source: docs/algorithm.md §answers.9.
    """
    asked = classes_in(question) & _ANSWERED
    words = telling_terms(without_classes(question, asked))
    if not asked and not words:
        return []
    is_own = np.array([events.documents.languages[row] == language for row in events.document.tolist()], np.bool_)
    for rows in (np.flatnonzero(is_own), np.flatnonzero(~is_own)):
        share = _shares(events, rows.tolist(), weigh(words))
        found = _stating(events, [row for row in rows.tolist() if share[row] >= _LEAST], share, asked)
        if found:
            return found
    return []


def _stating(
    events: EventTable, rows: Sequence[int], share: Mapping[int, float], asked: frozenset[HeaderClass]
) -> list[int]:
    texts = {row: events.contents[row] for row in rows}
    in_tables = [row for row in rows if any(cell.kind in asked and cell.value for cell in row_cells(texts[row]))]
    said = [row for row in rows if not asked or any(says(kind).search(fold(texts[row])) for kind in asked)]
    others = np.array(sorted({*said} - {*in_tables}), np.int32)
    others = others[quotable(events, others)] if len(others) else others
    held = np.array([share[row] for row in others.tolist()])
    ranked = others[np.lexsort((others, -worth(events, others), -np.round(held, 6)))].tolist()
    in_tables.sort(key=lambda row: (-share[row], row))
    return [*in_tables[:_MOST_ROWS], *_different(events, ranked, max(0, _MOST - len(in_tables)))]


def _shares(events: EventTable, rows: Sequence[int], weights: Mapping[str, float]) -> dict[int, float]:
    """The weighted share of the asked terms that each event holds with the title of its document; 1 without terms."""
    total = sum(weights.values())
    documents = events.document
    found: dict[int, float] = {}
    for row in rows:
        text = f"{events.documents.titles[int(documents[row])]} {events.contents[row]}" if total else ""
        found[row] = sum(weights[term] for term in weights.keys() & set(tokens(text))) / total if total else 1.0
    return found


def _different(events: EventTable, ranked: Sequence[int], most: int) -> list[int]:
    """The first of them that say different things; a second one of a document after all firsts."""
    chosen: list[int] = []
    said: list[frozenset[str]] = []
    for count in range(1, _OF_A_DOCUMENT + 1):
        for row in ranked:
            document = int(events.document[row])
            own = sum(int(events.document[other]) == document for other in chosen)
            terms = frozenset(tokens(events.contents[row]))
            is_new = all(len(terms & other) < _ALIKE * len(terms | other) for other in said)
            if len(chosen) < most and own < count and is_new:
                chosen.append(row)
                said.append(terms)
    return sorted(chosen, key=ranked.index)


_MOST_THEMES: Final = 20
"""Themes that a model is asked about, the nearest."""
_REST: Final = 60
"""Events of no near theme that a model is shown at most: some 4,000 tokens."""
_PROMPT_TOKENS: Final = 4_000
"""Estimated tokens of events in one prompt, and of points in the last."""
_REPLY_TOKENS: Final = 800
_QUOTED_THEMES: Final = 4
"""Themes that answer without a model."""
_QUOTED: Final = 2
"""Statements of each."""


class RatedPoint(AnswerShape):
    """A point of a partial answer, the lines that state it, and how much it answers the question."""

    text: str = Field(description="one sentence that answers a part of the question")
    cited: list[int] = Field(description="numbers n of the lines that state it")
    rating: FiniteFloat = Field(description="0 (does not answer) to 10 (answers decisively)")


class PartialAnswer(AnswerShape):
    """What one theme says to the question."""

    points: list[RatedPoint] = Field(description="at most 5; none where the lines say nothing to the question")


class GlobalAnswer(AnswerShape):
    """The answer to the whole question."""

    is_found: bool = Field(description="whether the lines answer the question")
    sentences: list[WrittenSentence] = Field(description="the answer, sentence by sentence; none if it is not found")


@dataclass(frozen=True, slots=True)
class _Point:
    """A supported point: its rating, and the rows of its events."""

    rating: int
    text: str
    rows: tuple[int, ...]


def ask_global(session: Session) -> ModeResult:
    """The outcome of asking the themes; where the release or its themes are not known, that of the fast mode.

    Source: docs/algorithm.md §answers.9.
    """
    context = session.context
    if context is None or context.themes is None:
        session.note("the themes are not known here; open the release and ask it: release.ask(…, mode='global')")
        return ask_fast(session)
    themes = context.themes()
    if themes.note:
        session.note(themes.note)
    query = embed_queries(context.index.embedder, [session.question])
    near = nearest_themes(themes, query, _MOST_THEMES)
    if not near:
        session.note("the release has no themes to answer from: too few events; see `sag status`")
    rows = sorted({int(themes.events.document[row]) for each in near for row in each.rows})
    documents = [themes.events.documents.document_ids[row] for row in rows]
    session.tell("background", documents=documents, keys=[each.community.title for each in near])
    if session.chat is None:
        session.note("there is no language model: their statements are quoted")
    answer = _by_model(session, themes, near, query) if near and session.chat is not None else None
    return answer or _by_rules(session, themes, near)


def _by_rules(session: Session, themes: Themes, near: Sequence[NearTheme]) -> ModeResult:
    """What documents state of what is asked for, under the titles of themes; else, as the closest, the fast answer."""
    assert session.context is not None
    chunks = themes.events.chunks.chunk_ids
    below = answer_from_sections(session, {chunks[row] for row in themes.events.chunk.tolist()})
    if below is not None:
        return ModeResult(*below, {"themes": [_told(each) for each in near]})
    listed = answer_from_tables(session, forms=("list", "cell"))
    if listed is not None:
        return from_rows(session, listed)
    sources = ThemeSources(session, themes)
    rows = stated_rows(themes.events, session.question, session.context.weigh, session.language)
    if rows:
        return _quoted(sources, _by_theme(sources, near, rows), near)
    if not telling_terms(session.question):
        return _quoted(sources, _of_themes(session, sources, themes, near, _QUOTED), near)
    fast = ask_fast(session)
    topics = _quoted(sources, _of_themes(session, sources, themes, near[:MOST_CLOSEST], 1), near)
    return replace(topics, cited=None, closest=fast.cited or fast.closest or topics.cited)


def _by_theme(sources: ThemeSources, near: Sequence[NearTheme], rows: Sequence[int]) -> list[str]:
    """A line of each theme, or of the document of an event that is in none of them."""
    title_of = {row: each.community.title for each in near for row in each.rows}
    lines: dict[str, list[int]] = {}
    for row in rows:
        lines.setdefault(title_of.get(row) or sources.title(row), []).append(row)
    return [sources.line(title, own) for title, own in lines.items()]


def _of_themes(
    session: Session, sources: ThemeSources, themes: Themes, near: Sequence[NearTheme], count: int
) -> list[str]:
    """A line of each of the largest themes that have statements."""
    found: list[str] = []
    for each in sorted(near, key=lambda each: -len(each.community.members)):
        rows = best_statements(themes, each, count, session.language)
        if rows and len(found) < _QUOTED_THEMES:
            found.append(sources.line(each.community.title, rows))
    return found


def _quoted(sources: ThemeSources, lines: Sequence[str], near: Sequence[NearTheme]) -> ModeResult:
    return ModeResult(
        sources.cited("\n".join(lines)), tuple(sources.passages.values()), {"themes": [_told(each) for each in near]}
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """What a model is asked about at once: a theme, or with an empty id what is nearest of all others; the lines."""

    community_id: str
    title: str
    lines: PromptLines


def _parts(session: Session, events: EventTable, near: Sequence[NearTheme], query: Vectors) -> list[_Part]:
    """The themes with their events, and the nearest events that are in none of these."""
    assert session.context is not None
    later = said_later(session.context.index)
    known = np.concatenate([each.rows for each in near])
    likeness = np.round(similarities(events, query), 9)
    likeness[known] = 0
    rest = [row for row in np.lexsort((np.arange(len(events)), -likeness)).tolist() if likeness[row] > 0][:_REST]
    given = [(each.community.community_id, each.community.title, each.rows) for each in near]
    found = []
    for community, title, rows in [*given, ("", "", rest)]:
        kept = first_rows(events, rows, _PROMPT_TOKENS)
        found.append(_Part(community, title, PromptLines.of(events, event_lines(events, kept, later))))
    return found if rest else found[:-1]


def _by_model(session: Session, themes: Themes, near: Sequence[NearTheme], query: Vectors) -> ModeResult | None:
    """A partial answer of each theme, then one of all of them; None, with a note, where the model gives none."""
    judge = Judge(themes.events.cleaned())
    parts = _parts(session, judge.events, near, query)
    reached = _within_budget(session, [part.lines for part in parts])
    if reached < len(parts):
        beyond = f"{len(parts) - reached} of {len(parts)} themes"
        session.note(f"{beyond} are beyond the budget; raise max_calls or max_tokens")
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sag-global") as threads:
        answers = list(threads.map(lambda part: _asked(session, part.lines), parts[:reached]))
    points: list[_Point] = []
    trace = [*map(_told, near), {"theme": "", "events": len(parts[-1].lines), "score": 0.0}][: len(parts)]
    for part, answer, told in zip(parts, answers, trace, strict=False):
        own = _supported(judge, part, answer) if answer else []
        told["points"] = [{"text": point.text, "rating": point.rating} for point in own]
        points += own
        first = own[0].text if own else ""
        session.tell("answered", id=part.title, is_found=bool(own), answer=first, cited=[])
    result = _reduced(session, judge, points) if points else None
    if judge.left_out:
        count = len(judge.left_out)
        session.note(f"{count} sentences of the model were left out: no event that it cited supports them")
    if result is None:
        return None
    sources = ThemeSources(session, themes)
    text = ("" if session.is_chinese else " ").join(sources.sentence(each) for each in result)
    cited = sources.cited(text, is_generated=True)
    left_out = [{"reason": each.reason, "text": each.text} for each in judge.left_out]
    return ModeResult(cited, tuple(sources.passages.values()), {"themes": trace, "left_out": left_out})


def _within_budget(session: Session, parts: Sequence[PromptLines]) -> int:
    """How many themes calls and tokens of the options reach, with the last call: known before the first is made."""
    tokens = _PROMPT_TOKENS + 2 * _REPLY_TOKENS
    for place, part in enumerate(parts):
        tokens += estimate_tokens(in_prompt(part.lines)) + 2 * _REPLY_TOKENS
        if place + 2 > session.options.max_calls or tokens > session.options.max_tokens:
            return place
    return len(parts)


def _asked(session: Session, part: PromptLines) -> PartialAnswer | None:
    values = {"lines": in_prompt(part.lines), "question": session.question}
    return session.tried("global_part", PartialAnswer, values, "a theme was not asked about")


def _supported(judge: Judge, part: _Part, answer: PartialAnswer) -> list[_Point]:
    found = []
    for each in answer.points:
        checked = judge.checked(each.text, each.cited, part.lines)
        rating = min(10, max(0, round(each.rating)))
        if checked.reason:
            judge.leave_out(part.community_id, "sentence", checked.reason, each.text)
        elif rating:
            found.append(_Point(rating, each.text, checked.numbers))
    return found


def _reduced(session: Session, judge: Judge, points: Sequence[_Point]) -> tuple[CitedSentence, ...] | None:
    lines = []
    for point in sorted(points, key=lambda point: -point.rating):
        said = max(day_of(judge.events, row) for row in point.rows)
        lines.append(PromptLine({"said": said, "rating": point.rating, "text": point.text}, point.rows))
    shown = PromptLines.of(judge.events, packed(lines, _PROMPT_TOKENS)[0])
    values = {"lines": in_prompt(shown.lines), "question": session.question}
    fault = "the answer was made without the model"
    answer = session.tried("global_answer", GlobalAnswer, values, fault, is_last=True)
    return (judge.sentences("", answer.sentences, shown) or None) if answer and answer.is_found else None


def _told(theme: NearTheme) -> dict[str, Any]:
    return {"theme": theme.community.title, "events": len(theme.community.members), "score": theme.score}
