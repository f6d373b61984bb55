"""What is made of documents without a model, beside what a reader judged of it, by half of each set.

    python benchmarks/judged.py keys                      shares of usable and of wrong keys, when judged and now
    python benchmarks/judged.py events [--manuals DIR]    shares of usable events, wrong keys and types, missed names
    python benchmarks/judged.py quotes                    how well the scorer orders statements, and its fitted weights

`judged_*.csv` hold hashes and verdicts. Rules are made on the half `dev`, `held_out` is only looked at.

Events are usable, or cut, joined, `nothing` (state nothing), `who` (of whom or what is left open); their keys right,
wrong (cut or joined), stray, or of a wrong type; unlabelled without a verdict. A wanted name that is no key is missed.

Quotes: 34 events of each of ten corpora, marked by a reader who saw no score: 0 not quotable alone, 1 quotable but says
little, 2 worth a line in a report. Printed are areas under the curve of the scorer with 95 % bootstrap intervals. The
weights of `statements/scorer.py` are fitted on the first half alone; this says when they are not.
"""

import argparse
import csv
import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from scipy.optimize import minimize

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.sets import DATA, locomo  # noqa: E402
from sag_pipeline.extract.chunks import split_chunks  # noqa: E402
from sag_pipeline.extract.document_dates import with_context_dates  # noqa: E402
from sag_pipeline.extract.rules.events import offline_events  # noqa: E402
from sag_pipeline.extract.rules.keys import offline_keys  # noqa: E402
from sag_pipeline.extract.rules.sections import offline_sections  # noqa: E402
from sag_pipeline.sources.documents import parse_document  # noqa: E402
from sag_pipeline.sources.listing import RawDocument, list_source  # noqa: E402
from sag_retrieval.core.records import TITLE, Document, Event, Key  # noqa: E402
from sag_retrieval.language.detection import detect_language  # noqa: E402
from sag_retrieval.language.words import normal_name  # noqa: E402
from sag_retrieval.statements.scorer import QUOTABLE, WORTH, Weights, by_features, features  # noqa: E402

HALVES = ("dev", "held_out")
Documents = Callable[[], Iterator[Document]]


@cache  # office files take long to read
def _files(folder: Path) -> list[Document]:
    found = list_source(str(folder)) if folder.is_dir() else ()
    read = (parse_document(raw) if isinstance(raw, RawDocument) else raw for raw in found)
    return [document for document in read if isinstance(document, Document)]


def _folders(*folders: Path) -> Iterator[Document]:
    for folder in folders:
        yield from _files(folder)


def _long(name: str) -> Iterator[Document]:
    text = gzip.decompress((DATA / "longdocs" / name).read_bytes()).decode("utf-8", "replace")
    yield Document(name, "longdocs", name.partition(".")[0], text, detect_language(text))


def _rows(file: str, title: str = "doc_id", step: int = 1, **wanted: str) -> Iterator[Document]:
    """Every n-th of the rows of a table that have the wanted values; a column `title` is part of the text."""
    rows = pq.read_table(DATA / f"{file}.docs.parquet").to_pylist()
    for row in [row for row in rows if all(row[field] == value for field, value in wanted.items())][::step]:
        text = f"{row['title']}\n{row['text']}" if title == "title" else row["text"]
        yield Document(row["doc_id"], file, row[title], text, row.get("language") or detect_language(text))


def _locomo() -> Iterator[Document]:
    return (Document(line["id"], "locomo", line["title"], line["text"], "en") for line in locomo().lines)


def _of_domain(domain: str, language: str) -> Documents:
    return lambda: _rows("dragonball", "name", domain=domain, language=language)


_BUSINESS = DATA / "business" / "documents"
LONG_AND_SHORT: Mapping[str, Documents] = {
    "reports-zh": lambda: _long("alibaba_fy2025_interim_zh.md.gz"),
    "reports-en": lambda: _long("nike_2023_annual_report.txt.gz"),
    "chats-lihua": lambda: _rows("lihua_world"),
    "law-zh": _of_domain("law", "zh"),
    "law-en": _of_domain("law", "en"),
}
"""Corpora of which both events and statements were judged."""
OF_KEYS: Mapping[str, Documents] = {
    "business": lambda: _folders(_BUSINESS),
    "demo": lambda: _folders(HERE.parent / "data" / "documents"),
    "musique": lambda: _rows("musique_train", "title", 8),
    "dragonball-zh": lambda: _rows("dragonball", step=4, language="zh"),
    "lihua": lambda: _rows("lihua_world", step=2),
}
OF_QUOTES: Mapping[str, Documents] = {
    **LONG_AND_SHORT,
    "demo": OF_KEYS["demo"],
    "business": OF_KEYS["business"],
    "finance-zh": _of_domain("finance", "zh"),
    "finance-en": _of_domain("finance", "en"),
    "medical-en": _of_domain("medical", "en"),
}
MANUALS = DATA / "manuals" / "pages"
"""What `manuals/build.py` of the evaluation data writes."""


def of_events(manuals: Path = MANUALS) -> dict[str, Documents]:
    return {
        **LONG_AND_SHORT,
        "manuals": lambda: _folders(_BUSINESS / "policies", manuals),
        "chats-locomo": _locomo,
        "tables": lambda: _folders(_BUSINESS / "finance", _BUSINESS / "invoices"),
    }


SHARES = {
    "reports-zh": 0.025, "reports-en": 0.0138, "manuals": 0.0083, "chats-lihua": 0.0034, "chats-locomo": 0.009,
    "law-zh": 0.0245, "law-en": 0.0215, "tables": 0.076,
}  # fmt: skip
"""Of all events of a corpus, the share that its sample holds."""


@cache  # several sets judge the same documents
def events_of(document: Document) -> list[Event]:
    chunks = split_chunks(document, offline_sections(document))
    return with_context_dates(document, [event for made in offline_events(document, chunks) for event in made])


@cache
def keys_of(document: Document) -> dict[str, list[Key]]:
    """The keys but titles of each event, as an ingest without a model makes them."""
    keys: dict[str, list[Key]] = {}
    for link in offline_keys(document, events_of(document)):
        if link.key.key_type != TITLE:
            keys.setdefault(link.event_id, []).append(link.key)
    return keys


def digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def half_of(identity: str) -> str:
    return HALVES[int(identity[-2:], 16) % 2]


def _read(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


KEY_VERDICTS = ("usable", "wrong", "type", "stray")
"""Usable; cut or joined wrongly; of a wrong type; a common word or a part of something that helps nobody."""


def judged_keys() -> dict[str, Any]:
    """Shares of verdicts in percent, by corpus and half: of what was judged, and of what is still made of it."""
    rows: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in _read("judged_keys.csv"):
        rows[row["corpus"]].append(row)
    found: dict[str, Any] = {}
    for corpus, own in rows.items():
        judged = {row["event_id"] for row in own}
        links = (keys_of(each) for each in OF_KEYS[corpus]() if judged & {one.event_id for one in events_of(each)})
        made = {(event, key.key_id) for each in links for event, keys in each.items() for key in keys}
        for half in HALVES:
            part = [row for row in own if row["half"] == half]
            still = [row for row in part if (row["event_id"], row["key_id"]) in made]
            found[f"{corpus} {half}"] = {"before": _key_shares(part), "now": _key_shares(still)}
    return found


def _key_shares(rows: Sequence[Mapping[str, str]]) -> dict[str, float]:
    counts = Counter(row["verdict"] for row in rows)
    shares = {verdict: round(100 * counts[verdict] / max(1, len(rows)), 1) for verdict in KEY_VERDICTS}
    return {"keys": len(rows), **shares}


USABLE, RIGHT = "usable", "right"
EVENT_FAULTS = ("cut", "joined", "nothing", "who")
KEY_FAULTS = ("wrong", "stray", "type")
ENTITY = "entity"


class Sampled(NamedTuple):
    half: str
    event: str
    keys: tuple[Key, ...]


def sampled(name: str, documents: Documents) -> list[Sampled]:
    """The sampled events of a corpus, each content once."""
    found: dict[str, Sampled] = {}
    for document in documents():
        for event in events_of(document):
            identity = digest(name, event.content)
            if int(identity[:8], 16) < SHARES[name] * 2**32:
                own = tuple(keys_of(document).get(event.event_id, ()))
                found.setdefault(identity, Sampled(half_of(identity), identity, own))
    return sorted(found.values(), key=lambda one: one.event)


def mark_of(key: Key) -> tuple[str, str]:
    """What stands for a key in the labels: the hash of its value, and its type."""
    bare = normal_name(key.value) if isinstance(key.value, str) else json.dumps([key.value, key.unit])
    return digest("key", bare), key.key_type


class Verdicts:
    def __init__(self) -> None:
        """Read what is stored: a row speaks of an event, or of a key of it."""
        self.events: dict[str, str] = {}
        self.keys: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
        for row in _read("judged_events.csv"):
            if row["key"]:
                self.keys[row["event"]][row["key"], row["type"]] = row["verdict"]
            else:
                self.events[row["event"]] = row["verdict"]

    def count(self, event: Sampled) -> Counter[str]:
        if event.event not in self.events:
            return Counter({"unlabelled": 1})
        known = self.keys[event.event]
        made = [mark_of(key) for key in event.keys]
        missed = {mark[0] for mark, verdict in known.items() if verdict == RIGHT} - {mark[0] for mark in made}
        found = Counter(f"key {known.get(mark, 'unlabelled')}" for mark in made)
        entities = sum(key.key_type == ENTITY for key in event.keys)
        return found + Counter(
            {f"event {self.events[event.event]}": 1, "missed": len(missed), "keys": len(made), ENTITY: entities}
        )


def event_shares(counts: Counter[str]) -> dict[str, Any]:
    """Percent: usable of judged events, faults of judged keys, missed of wanted names, `entity` of all keys."""
    events = sum(counts[f"event {verdict}"] for verdict in (USABLE, *EVENT_FAULTS))
    keys = sum(counts[f"key {verdict}"] for verdict in (RIGHT, *KEY_FAULTS))
    wanted = counts["key right"] + counts["key type"] + counts["missed"]
    percent = {
        "usable": (counts[f"event {USABLE}"], events),
        "wrong or stray": (counts["key wrong"] + counts["key stray"], keys),
        "wrong type": (counts["key type"], keys),
        "missed": (counts["missed"], wanted),
        ENTITY: (counts[ENTITY], counts["keys"]),
    }
    return {
        "events": events,
        "unlabelled": counts["unlabelled"],
        "keys": keys,
        "unlabelled_keys": counts["key unlabelled"],
        **{name: round(100 * part / max(1, of), 1) for name, (part, of) in percent.items()},
        "faults": {name: n for name in EVENT_FAULTS if (n := counts[f"event {name}"])},
    }


def judged_events(manuals: Path = MANUALS) -> dict[str, Any]:
    verdicts, counts = Verdicts(), defaultdict[str, Counter[str]](Counter)
    for name, documents in of_events(manuals).items():
        for event in sampled(name, documents):
            for group in (f"{name} {event.half}", event.half):
                counts[group] += verdicts.count(event)
    return {name: event_shares(count) for name, count in sorted(counts.items())}


_RIDGE = 3.0
"""Of the logistic model: 186 marks do not carry eleven free weights; 1, 3 and 10 tried by cross-validation."""
Wanted = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def marked() -> Iterator[tuple[str, str, int]]:
    """Identity, text and mark of each judged statement that today's rules still make."""
    marks = {(row["corpus"], row["event"]): int(row["mark"]) for row in _read("judged_quotes.csv")}
    for name in sorted({corpus for corpus, _ in marks}):
        seen = set[str]()
        for document in OF_QUOTES[name]():
            for event in events_of(document):
                identity = digest(name, event.content)
                if (name, identity) in marks and identity not in seen:
                    seen.add(identity)
                    yield identity, event.content, marks[name, identity]


def fitted(texts: Sequence[str], wanted: Wanted) -> Weights:
    """A logistic model of the features, its weights for the features as they are."""
    table = np.array([features(text) for text in texts])
    middle, spread = table.mean(0), table.std(0) + 1e-9
    known, sign = np.column_stack([np.ones(len(texts)), (table - middle) / spread]), np.where(wanted, 1.0, -1.0)

    def loss(weights: Floats) -> float:
        return float(np.logaddexp(0, -sign * (known @ weights)).sum() + _RIDGE * (weights[1:] ** 2).sum() / 2)

    found = minimize(loss, np.zeros(known.shape[1]), method="L-BFGS-B").x
    raw = found[1:] / spread
    return Weights(round(float(found[0] - raw @ middle), 3), tuple(np.round(raw, 3).tolist()))


def area(scores: Floats, wanted: Wanted) -> float:
    """The share of pairs of a wanted and another that the scores order rightly; a tie counts half."""
    above = scores[wanted][:, None] - scores[~wanted][None, :]
    return float(np.mean((above > 0) + (above == 0) / 2))


def _spoken_area(scores: Floats, wanted: Wanted) -> str:
    draws = np.random.default_rng(0).integers(0, len(scores), (1000, len(scores)))
    found = [area(scores[draw], wanted[draw]) for draw in draws if 0 < wanted[draw].sum() < len(draw)]
    low, high = np.quantile(found, (0.025, 0.975))
    return f"{area(scores, wanted):.3f} [{low:.3f}, {high:.3f}]"


def judged_quotes() -> Iterator[str]:
    rows = list(marked())
    texts, marks = [text for _, text, _ in rows], np.array([mark for *_, mark in rows])
    is_first = np.array([half_of(identity) == HALVES[0] for identity, *_ in rows])
    first = [text for text, one in zip(texts, is_first, strict=True) if one]
    counts = [int((marks == mark).sum()) for mark in (0, 1, 2)]
    yield f"{len(rows)} of 340 judged statements are made today; marks 0, 1, 2: {counts}"
    judgements = by_features(texts)
    for name, wanted, own in (("quotable", marks > 0, QUOTABLE), ("worth quoting", marks > 1, WORTH)):
        weights = fitted(first, wanted[is_first])
        if weights != own:
            yield f"{name}: the scorer has other weights; fitted: {weights}"
        scores = np.array([getattr(each, "quotable" if own is QUOTABLE else "worth") for each in judgements])
        halves = (_spoken_area(scores[half], wanted[half]) for half in (is_first, ~is_first))
        yield f"{name:14} first half {next(halves)}   second half {next(halves)}"
        for label, half in (("first", is_first), ("second", ~is_first)) if own is QUOTABLE else ():
            quoted, right = scores[half] >= 1 / 2, wanted[half]
            precision, kept = right[quoted].mean(), quoted[right].mean()
            yield f"{label} half: {precision:.1%} of what is quoted is quotable, {kept:.1%} of that is quoted"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("keys", "events", "quotes"))
    parser.add_argument("--manuals", type=Path, default=MANUALS, help="what manuals/build.py wrote")
    chosen = parser.parse_args()
    if chosen.what == "quotes":
        print("\n".join(judged_quotes()))
    else:
        shares = judged_keys() if chosen.what == "keys" else judged_events(chosen.manuals)
        print(json.dumps(shares, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
