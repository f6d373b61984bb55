"""Citations of events in an answer from themes, and the passages that hold them."""

from typing import Final

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.evidence import sentence_for
from sag_retrieval.ask.passages import JoinedPassage
from sag_retrieval.ask.session import Session
from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.language.words import is_cjk, tokens
from sag_retrieval.llm_writing.themes import Themes
from sag_retrieval.notebook import snippet
from sag_retrieval.search.lookup import chunk_by_id

_LONGEST_TITLE: Final = 60
"""Characters of a title that says whom a quotation is about."""


class ThemeSources:
    """Citations of events, numbered as they are first cited, and the passages that hold them."""

    def __init__(self, session: Session, themes: Themes) -> None:
        assert session.context is not None
        self._index, self._themes = session.context.index, themes
        self._row_of = {event_id: row for row, event_id in enumerate(themes.events.event_ids)}
        self._marker: dict[int, int] = {}
        self.citations: list[Citation] = []
        self.passages: dict[str, JoinedPassage] = {}

    def sentence(self, sentence: CitedSentence) -> str:
        """A sentence with the markers of its events."""
        markers = "".join(dict.fromkeys(f"[{self._cite(self._row_of[each])}]" for each in sentence.event_ids))
        return sentence.text + ("" if is_cjk(sentence.text) else " ") + markers

    def quotation(self, row: int) -> str:
        """The words of an event with its marker, and the title of its document where they share no word with it."""
        cited = self.citations[self._cite(row) - 1]
        is_chinese = is_cjk(cited.quote)
        marker = f"{'' if is_chinese else ' '}[{self._marker[row]}]"
        if len(cited.title) > _LONGEST_TITLE or not set(tokens(cited.title)).isdisjoint(tokens(cited.quote)):
            return snippet(cited.quote) + marker
        return snippet(cited.quote) + (f"（{cited.title}）" if is_chinese else f" ({cited.title})") + marker

    def _cite(self, row: int) -> int:
        if row not in self._marker:
            passage = self._passage(row)
            start, end = self._span(row, passage.text)
            known = (passage.chunk_id, passage.start + start, passage.start + end)
            same = next((each.marker for each in self.citations if (each.chunk_id, each.start, each.end) == known), 0)
            self._marker[row] = same or len(self.citations) + 1
            if not same:
                quote = passage.text[start:end]
                named = (passage.chunk_id, passage.document_id, passage.title)
                self.citations.append(Citation(self._marker[row], *named, known[1], known[2], quote, passage.place))
        return self._marker[row]

    def _span(self, row: int, text: str) -> tuple[int, int]:
        start, end = self._themes.events.spans[row].tolist()
        return (
            (start, end) if 0 <= start < end <= len(text) else sentence_for(self._themes.events.contents[row], "", text)
        )

    def _passage(self, row: int) -> JoinedPassage:
        events = self._themes.events
        chunk = int(events.chunk[row])
        chunk_id, document = events.chunks.chunk_ids[chunk], int(events.chunks.document[chunk])
        if chunk_id not in self.passages:
            first, text = self._start(chunk_id), events.chunks.texts[chunk]
            self.passages[chunk_id] = JoinedPassage(
                chunk_id=chunk_id,
                document_id=events.documents.document_ids[document],
                title=events.documents.titles[document],
                text=text,
                score=1 / (1 + len(self.passages)),
                start=first,
                end=first + len(text),
                chunks=((first, chunk_id),),
                place=events.chunks.places[chunk] if events.chunks.places else "",
            )
        return self.passages[chunk_id]

    def _start(self, chunk_id: str) -> int:
        return int(chunk_by_id(self._index, chunk_id).start)
