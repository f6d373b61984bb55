"""Top keys: the keys that are frequent and still distinguish communities."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sag_retrieval.clusters.events import Keys
from sag_retrieval.reports.section import KeyStatistics, ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, table

WORDING: Wording = {
    "heading": ("Top keys", "关键属性"),
    "how": (
        "Ordered by events × idf: keys that are frequent and still distinguish communities.",
        "按“事件数 × idf”排列：出现得多，又能区分社区的属性。",
    ),
    "type": ("Type", "类型"),
    "key": ("Key", "属性"),
    "idf": ("idf", "idf"),
}

_MOST = 20
_COMMUNITIES = 4


@dataclass(frozen=True, slots=True)
class TopKey:
    """A row of the table; `share` is the length of its bar, 0 to 1."""

    type: str
    value: str
    events: int
    share: float
    idf: float
    numbers: tuple[int, ...]
    """Numbers of the communities that have most of its events."""


@dataclass(frozen=True, slots=True)
class TopKeys:
    """The rows of the table."""

    rows: tuple[TopKey, ...]


def build(context: ReportContext) -> TopKeys | None:
    """Twenty keys by events × idf, without dates and quantities; None where no key has such a score."""
    rows = _rows(
        context.events.keys, context.keys, context.options.cluster.without_key_types, context.messages(WORDING)
    )
    return TopKeys(rows) if rows else None


def _rows(keys: Keys, statistics: KeyStatistics, without: tuple[str, ...], messages: Messages) -> tuple[TopKey, ...]:
    total, idf = statistics.total, statistics.idf
    score = np.round(total * idf, 9)
    order = np.lexsort((np.arange(len(score)), -score)).tolist()
    names = (key for key in order if keys.types[key] not in without and statistics.is_name[key])
    chosen = [key for key in islice(names, _MOST) if score[key] > 0]
    most = max((total[key] for key in chosen), default=1.0)
    by_key = statistics.counts.tocsc()
    found = []
    for key in chosen:
        part = slice(by_key.indptr[key], by_key.indptr[key + 1])
        places, counts = by_key.indices[part], by_key.data[part]
        best = places[np.lexsort((places, -counts))][:_COMMUNITIES]
        found.append(
            TopKey(
                type=messages.key_type(keys.types[key], keys.schema),
                value=keys.values[key],
                events=int(total[key]),
                share=round(float(total[key] / most), 3),
                idf=round(float(idf[key]), 2),
                numbers=tuple(int(place) + 1 for place in best),
            )
        )
    return tuple(found)


def markdown(content: TopKeys, messages: Messages) -> Iterator[str]:
    """A table."""
    yield from (f"## {messages.heading}", "", messages.how, "")
    yield from table(
        [messages.type, messages.key, messages.events, messages.idf, messages.communities],
        [
            [key.type, key.value, f"{key.events:,}", f"{key.idf:.2f}", messages.comma.join(map(str, key.numbers))]
            for key in content.rows
        ],
    )


SECTION = ReportSection(name="keys", anchor="keys", build=build, markdown=markdown, wording=WORDING, is_folded=True)
