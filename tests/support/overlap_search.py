"""A small real search for tests: documents ranked by shared index terms, rarer terms counting more."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from sag_retrieval.core.errors import FilterError
from sag_retrieval.language.words import tokens


@dataclass(frozen=True)
class FoundKey:
    type: str
    value: str


@dataclass(frozen=True)
class Found:
    rank: int
    score: float
    chunk_id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int
    events: tuple = ()
    keys: tuple = ()


@dataclass(frozen=True)
class FoundList:
    query: str
    hits: tuple
    keys: tuple = ()
    trace: dict = field(default_factory=dict)
    seconds: dict = field(default_factory=dict)
    method: str = "overlap"
    release: str = "test"


@dataclass
class OverlapSearch:
    """Callable as any search; `asked` keeps what was asked. A chunk is `(document, title, text)`."""

    chunks: Sequence[tuple[str, str, str]]
    asked: list = field(default_factory=list)

    def __call__(self, text, keys=(), sql=None, top_k=10):
        self.asked.append((text, tuple(keys), sql))
        if sql is not None and not sql.startswith("document_id = "):
            raise FilterError(f"refused: {sql!r}")
        allowed = None if sql is None else sql.removeprefix("document_id = ").strip("'")
        chunks = [c for c in self.chunks if allowed in {None, c[0]}]
        wanted = set(tokens(" ".join([text, *keys])))
        bags = [set(tokens(f"{title} {body}")) for _, title, body in self.chunks]
        weight = {t: math.log(1 + len(bags) / (1 + sum(t in bag for bag in bags))) for t in wanted}
        scored = [
            (sum(weight[t] for t in sorted(wanted & set(tokens(f"{c[1]} {c[2]}")))), row, c)
            for row, c in enumerate(chunks)
        ]
        scored = [s for s in sorted(scored, key=lambda s: (-s[0], s[1])) if s[0] > 0][:top_k]
        total = math.fsum(weight.values())
        hits = tuple(
            Found(rank, score / total, f"c-{c[0]}-{row}", c[0], c[1], c[2], 100 * row, 100 * row + len(c[2]))
            for rank, (score, row, c) in enumerate(scored, start=1)
        )
        found = tuple(dict.fromkeys(FoundKey("title", hit.title) for hit in hits if hit.title))
        return FoundList(text, hits, found)
