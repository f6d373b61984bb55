"""How well aliases become one key: by name, by what is said, by vectors; with and without known keys in the prompt.

python benchmarks/alignment.py
"""

import json
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.near_names import near_pairs
from sag_pipeline.llm.key_waves import KeyWork
from sag_pipeline.llm.known_keys import BatchSource
from sag_pipeline.steps.entity_resolution import Aligned, Alignment, KeyColumns, align_keys
from sag_pipeline.steps.keys import make_key
from sag_pipeline.table import StepInput
from sag_retrieval.core.records import Chunk, Document, Event, make_id
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.text.words import language_of, normal_name
from tests.support.aliases import FILE, precision_and_recall, read_planted
from tests.support.chat_server import ChatServer, first_prompt_of
from tests.support.scripted_answers import known_names, numbered_events


def by_evidence() -> list[dict[str, Any]]:
    """Precision and recall of merging over pairs of planted keys, as evidence is added; and by bound of the cosine."""
    planted = read_planted()
    vectors = HashingEmbedder().embed(planted.keys.values)
    said = align_keys(planted.keys, said=planted.said)
    found = {"names": align_keys(planted.keys), "names, said": said}
    for bound in (0.5, 0.6, 0.7, 0.8, 0.9):
        pairs = near_pairs(planted.keys, vectors, bound)
        found[f"names, said, vectors from {bound}"] = _joined(planted.keys, said, pairs)
    return [
        {"evidence": evidence, **dict(zip(("precision", "recall"), precision_and_recall(planted, one), strict=True))}
        for evidence, one in found.items()
    ]


def _joined(keys: KeyColumns, alignment: Alignment, pairs: Iterable[tuple[int, int]]) -> Alignment:
    """The alignment with the keys of each pair aligned as well."""
    canonical = {key_id: alignment.canonical.get(key_id, key_id) for key_id in keys.key_ids}
    for pair in pairs:
        kept, gone = (canonical[keys.key_ids[row]] for row in pair)
        canonical = {key_id: kept if one == gone else one for key_id, one in canonical.items()}
    return Alignment(tuple(Aligned(a, a, key, "embedding", 1.0) for a, key in canonical.items() if a != key))


def by_known_keys() -> list[dict[str, Any]]:
    """Distinct keys a scripted model leaves, and what aligning makes of them, with and without known keys shown.

    The model writes names as its text has them; shown a known key of the same planted thing, it copies that.
    """
    groups = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    named = [(number, group["type"], name) for number, group in enumerate(groups) for name in group.get("same", ())]
    thing_of = {normal_name(name): number for number, _, name in named}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        prompt = first_prompt_of(request)
        shown = set(known_names(prompt))
        ((_, text),) = numbered_events(prompt)
        _, key_type, name = next(one for one in sorted(named, key=lambda one: -len(one[2])) if f"<{one[2]}>" in text)
        same = sorted(one for one in shown if thing_of.get(normal_name(one)) == thing_of[normal_name(name)])
        return {"events": [{"event": 1, "keys": [{"type": key_type, "value": (same or [name])[0], "same_as": []}]}]}

    found = []
    with ChatServer(answer) as server:
        chat = OpenAIChat("m", base_url=server.base_url, api_key="none", options=ChatOptions(concurrency=4))
        for label, before in (("without", None), ("with", BatchSource(HashingEmbedder()))):
            work = KeyWork(chat=chat, before=before)
            made = [
                link
                for place, one in enumerate(named)
                for made in work([_inputs(place, *one)])
                for link in made.records
            ]
            keys = {link.key.key_id: link.key for link in made if link.key.key_type not in ("title", "heading")}
            columns = KeyColumns(
                list(keys),
                [key.key_type for key in keys.values()],
                [str(key.value) for key in keys.values()],
                [normal_name(str(key.value)) for key in keys.values()],
                [1] * len(keys),
            )
            left = len(keys) - len(align_keys(columns).rows)
            things = len({number for number, _, _ in named})
            found.append(
                {"known keys": label, "things": things, "keys": len(keys), "keys after aligning by name": left}
            )
    return found


def _inputs(place: int, number: int, key_type: str, name: str) -> StepInput:
    content = f"{'报道提到' if language_of(name) == 'zh' else 'The report speaks of'} <{name}> ({key_type})."
    document = Document(f"d{place}", "s", "", content, language_of(content))
    chunk = Chunk(f"c{place}", document.document_id, "s", 0, 0, len(content), content, "")
    event = Event(make_id("e", place), document.document_id, chunk.chunk_id, 0, content, "")
    assert make_key(key_type, name) is not None, number
    return StepInput(document.document_id, {"documents": [document], "chunks": [chunk], "events": [replace(event)]})


def speed(count: int = 500_000) -> dict[str, float]:
    """Seconds to align this number of keys by name, a tenth of them written twice."""
    draw = random.Random(0)
    stems = [
        f"{draw.choice(['alpha', 'beta', 'delta', '北方', '苹果'])} {draw.randrange(10**7)}"
        for _ in range(count * 9 // 10)
    ]
    names = stems + [name.replace(" ", "") for name in stems[: count - len(stems)]]
    types = [draw.choice(["person", "topic", "organisation"]) for _ in names]
    keys = KeyColumns([f"k{n}" for n in range(count)], types, names, names, [1] * count)
    started = time.perf_counter()
    rows = align_keys(keys).rows
    return {"keys": count, "aligned": len(rows), "seconds": time.perf_counter() - started}


if __name__ == "__main__":
    results = {"by_evidence": by_evidence(), "by_known_keys": by_known_keys(), "speed": speed()}
    print(json.dumps(results, indent=1, ensure_ascii=False))
