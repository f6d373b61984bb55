"""Which categories, events and documents led tiered retrieval to each hit, in steps and as a sentence."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Rows
from sag_retrieval.language.words import is_cjk
from sag_retrieval.search.hits import count_stage
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.tiers.source import ReleaseTiers, Tier
from sag_retrieval.search.methods.tiers.workflow import TIERS, TiersFound

_ENGLISH: Final = {
    "event": "found because it states “{event}”, which is like the question",
    "event in category": "found because it states “{event}”, which is like the question, in the category “{category}”",
    "category of event": "found because it is in the category “{category}” with “{event}”, which is like the question",
    "category": "found because it is in the category “{category}”, which is like the question",
    "document": "found because its document “{document}” is like the question",
    "text": "found because it reads like the question",
}
_BY_CATEGORY: Final = ("category of event", "category")
"""Ways on which the category itself leads to the chunk, whether its own tier found it or not."""
_CHINESE: Final = {
    "event": "找到它，因为它说的“{event}”与问题相近。",
    "event in category": "找到它，因为它说的“{event}”与问题相近，属于类别“{category}”。",
    "category of event": "找到它，因为它与“{event}”同属类别“{category}”，而后者与问题相近。",
    "category": "找到它，因为它所属的类别“{category}”与问题相近。",
    "document": "找到它，因为它所在的文档《{document}》与问题相近。",
    "text": "找到它，因为它的文字与问题相近。",
}


def explain(source: ReleaseTiers, query: Query, response: TiersFound, chunks: Rows) -> dict[str, Any]:
    """The part of a trace that `explain` adds: titles of found rows, chunks by tier, and the way to each hit."""
    ways = _Ways(source, query, response)
    found = {tier: [row for row, _ in response.hits[tier]] for tier in TIERS}
    stages = {tier: ways.chunks_of(tier, found[tier]) for tier in TIERS if found[tier]} | {"hits": chunks}
    return {
        "titles": {row: title for tier in TIERS for row, title in ways.titles(tier, found[tier]).items()},
        "stages": [count_stage(source.index, query, name, kept) for name, kept in stages.items()],
        "hits": [ways.to(int(chunk)) for chunk in chunks],
    }


@dataclass(frozen=True)
class _Ways:
    source: ReleaseTiers
    query: Query
    response: TiersFound

    @cached_property
    def place(self) -> dict[int, int]:
        """Place among the found events, by row."""
        rows = self.source.rows_of("item", [row for row, _ in self.response.hits["item"]])
        return {row: place for place, row in enumerate(rows.tolist())}

    @cached_property
    def categories(self) -> dict[int, list[int]]:
        """Numbers of the categories of each event, found ones first and best first, by event row."""
        ids = self.source.categories.ids
        found = {row: place for place, (row, _) in enumerate(self.response.hits["category"])}
        owners: dict[int, list[int]] = {}
        for number in sorted(range(len(ids)), key=lambda number: found.get(ids[number], len(found))):
            for event in self.source.categories.events.row(number).tolist():
                owners.setdefault(event, []).append(number)
        return owners

    @cached_property
    def found_in(self) -> dict[int, int]:
        """The best found event of each category that has one, by number of the category."""
        best: dict[int, int] = {}
        for event in self.place:  # best first
            for number in self.categories.get(event, ()):
                best.setdefault(number, event)
        return best

    def titles(self, tier: Tier, ids: list[str]) -> dict[str, str]:
        """What each row is called: the title of categories and documents, the content of events."""
        rows = self.source.rows(tier, ids)
        return {row: each["content" if tier == "item" else "title"] for row, each in zip(ids, rows, strict=True)}

    def chunks_of(self, tier: Tier, ids: list[str]) -> Rows:
        """Chunks below some rows."""
        arrays = self.source.index.arrays
        if tier == "resource":
            rows = np.isin(arrays.chunk_document, self.source.rows_of(tier, ids))
            return np.flatnonzero(rows).astype(np.int32)
        categories = self.source.categories
        events: npt.NDArray[np.integer] = (
            self.source.rows_of("item", ids)
            if tier == "item"
            else np.concatenate([categories.events.row(number) for number in categories.numbers(ids)])
        )
        return np.asarray(arrays.event_chunk[events], np.int32)

    def to(self, chunk: int) -> dict[str, Any]:
        """The way to one chunk: its steps, the rows on it, and a sentence."""
        kind, on_it = self._found(chunk)
        texts = _CHINESE if is_cjk(self.query.text) else _ENGLISH
        order = ("event", "category") if kind == "category of event" else ("category", "event", "document")
        led = [name for name in order if name in on_it and (kind in _BY_CATEGORY or on_it[name].get("is_found", True))]
        path = [(name, on_it[name]["title"]) for name in led] or [("text", "")]
        named = {name: row["title"] for name, row in on_it.items()}
        chunk_id = self.source.index.rows["chunks"]["chunk_id"][chunk].as_py()
        return {"chunk_id": chunk_id, **on_it, "path": path, "why": texts[kind].format(**named)}

    def _found(self, chunk: int) -> tuple[str, dict[str, dict[str, Any]]]:
        """By what a chunk was reached, the strongest first, and the rows."""
        first, last = self.source.index.arrays.chunk_events[chunk : chunk + 2].tolist()
        own = [event for event in range(first, last) if event in self.place]
        if own:
            event = min(own, key=self.place.__getitem__)
            known = self.categories.get(event)
            category = {"category": self._category(known[0])} if known else {}
            return "event in category" if known else "event", {**category, "event": self._event(event)}
        numbers = [number for event in range(first, last) for number in self.categories.get(event, ())]
        shared = [number for number in numbers if number in self.found_in]
        if shared:
            number = min(shared, key=lambda number: self.place[self.found_in[number]])
            return "category of event", {
                "category": self._category(number),
                "event": self._event(self.found_in[number]),
            }
        return self._by_parent(chunk, numbers)

    def _by_parent(self, chunk: int, numbers: list[int]) -> tuple[str, dict[str, dict[str, Any]]]:
        scores = dict(self.response.hits["category"])
        found = [number for number in numbers if self.source.categories.ids[number] in scores]
        if found and not self.place:
            return "category", {"category": self._category(found[0])}
        document = int(self.source.index.arrays.chunk_document[chunk])
        values = self.source.index.rows["documents"].select(["document_id", "title"]).slice(document, 1).to_pylist()[0]
        documents = dict(self.response.hits["resource"])
        if values["document_id"] in documents:
            return "document", {"document": values | {"score": documents[values["document_id"]]}}
        return "text", {}

    def _category(self, number: int) -> dict[str, Any]:
        row, found = self.source.categories.row(number), dict(self.response.hits["category"])
        name = row["category_id"]
        return {"category_id": name, "title": row["title"], "score": found.get(name), "is_found": name in found}

    def _event(self, row: int) -> dict[str, Any]:
        name, score = self.response.hits["item"][self.place[row]]
        return {"event_id": name, "title": self.source.index.rows["events"]["content"][row].as_py(), "score": score}
