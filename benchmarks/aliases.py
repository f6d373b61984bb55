"""How many things end as more than one key at a first ingest, and how many keys stand for more than one thing.

python benchmarks/aliases.py [ROW …] [--passages 100] [--held-out] [--show] [--parts]
python benchmarks/aliases.py --shown        which questions of a first ingest show known keys

A thing counts if its passages hold two or more of its names, titles included (`alias_set.py`). It is split if the keys
with its names are more than one after aligning; it is wrongly merged if a key stands for it and for another thing or
title. Input tokens are those of events, keys and pairs, as the scripted server counted them, for one of the corpus.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.alias_set import DATA, HALVES, AliasSet, ScriptedModel, is_about_keys, read_set, title_thing
from benchmarks.prompt_parts import table_of
from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.entity_resolution import Alignment, KeyColumns, align_keys
from sag_pipeline.extract.known_options import KnownOptions
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.llm.extract import events_work
from sag_pipeline.llm.key_waves import KeyWork
from sag_pipeline.llm.known_keys import BatchSource
from sag_pipeline.llm.same_names import LIMITS, answered_pairs
from sag_pipeline.options import AlignOptions
from sag_pipeline.publish.distinct_keys import Confirm
from sag_pipeline.table import StepInput
from sag_retrieval.core.records import TITLE, Document, Event, EventKey
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.answer_cache import AnswerCache
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.hashing import HashingEmbedder
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.chat_server import ChatServer, count_tokens, first_prompt_of
from tests.support.scripted_answers import known_names, read_well

_BATCH = 128
_NO_WAVES = KnownOptions(first_wave=1_000_000, longest_wave=1_000_000, named_keys=0, title=False)


@dataclass(frozen=True)
class Row:
    """One way to ask."""

    known: KnownOptions | None = None
    """None: no known keys."""
    says_same: bool = False
    """Whether the model fills `same_as`, as the prompt asks."""
    pairs: bool = False
    """Whether it is asked about close pairs afterwards."""
    errors: float = 0.0
    """The share of pairs about which it is wrong."""


ROWS = {
    "model, no known keys": Row(),
    "model, vectors, batches of 128": Row(_NO_WAVES),
    "model, vectors, waves": Row(KnownOptions(named_keys=0, title=False)),
    "model, vectors, names, waves": Row(KnownOptions(title=False)),
    "model, names and titles, waves": Row(KnownOptions(direct_keys=0, similar_events=0)),
    "model, all known keys, waves": Row(KnownOptions()),
    "the same, and same_as": Row(KnownOptions(), says_same=True),
    "the same, and pairs": Row(KnownOptions(), pairs=True),
    "the same, same_as and pairs": Row(KnownOptions(), says_same=True, pairs=True),
    "the same, 2 of 100 pairs wrong": Row(KnownOptions(), says_same=True, pairs=True, errors=0.02),
}


@dataclass(frozen=True)
class Made:
    """Keys, how they are aligned, input tokens by step for one token of the corpus, and what these were spent on."""

    keys: list[EventKey]
    alignment: Alignment
    tokens: dict[str, float] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)


def _inputs(given: AliasSet) -> list[StepInput]:
    return [
        StepInput(one.document_id, {"documents": [one], "chunks": split_chunks(one, offline_sections(one))})
        for one in given.documents
    ]


def by_rules(given: AliasSet) -> Made:
    """Keys by rules; no tokens."""
    found: list[EventKey] = []
    for one in _inputs(given):
        document, chunks = one.one("documents"), one.tables["chunks"]
        events = [event for part in offline_events(document, chunks) for event in part]
        found += offline_keys(document, chunks, events)
    return Made(found, _aligned(found))


def by_model(given: AliasSet, row: Row) -> Made:
    """Keys by the scripted model."""
    corpus = sum(count_tokens(one.text) for one in given.documents)
    with (
        ChatServer(ScriptedModel(given, says_same=row.says_same, errors=row.errors)) as server,
        TemporaryDirectory() as folder,
        AnswerCache(Path(folder) / "a") as cache,
    ):
        options = ChatOptions(concurrency=16)
        inner = OpenAIChat("m", base_url=server.base_url, api_key="none", options=options)
        chat, pair_chat = CachedChat(inner, cache), CachedChat(inner, cache, limits=LIMITS)
        found, contents = list[EventKey](), dict[str, str]()
        for events, keys in _keys_of(chat, given, row.known):
            found += keys
            contents |= {event.event_id: event.content for event in events}
        confirm = partial(_answered, pair_chat, contents, found)
        aligned = _aligned(found, confirm if row.pairs else None)
        tokens: dict[str, float] = defaultdict(float)
        for call in (*chat.take_calls(), *pair_chat.take_calls()):
            tokens[call.step] += call.input_tokens / corpus
    return Made(found, aligned, tokens, table_of(server.finished, corpus))


def _keys_of(
    chat: CachedChat, given: AliasSet, known: KnownOptions | None
) -> Iterator[tuple[list[Event], list[EventKey]]]:
    """Events and keys, batch by batch, as an ingest makes them."""
    before = BatchSource(HashingEmbedder()) if known else None
    work, inputs = KeyWork(chat=chat, before=before, known=known or KnownOptions()), _inputs(given)
    for start in range(0, len(inputs), _BATCH):
        batch = inputs[start : start + _BATCH]
        made = [result.records for result in events_work(chat)(batch)]
        batch = [replace(one, tables={**one.tables, "events": own}) for one, own in zip(batch, made, strict=True)]
        yield [event for own in made for event in own], [key for result in work(batch) for key in result.records]


def _answered(
    chat: CachedChat, contents: dict[str, str], links: Sequence[EventKey], keys: KeyColumns, alignment: Alignment
) -> list[tuple[str, str]]:
    """Pairs that the model takes for one thing, as in an ingest."""
    carried: dict[str, str] = {}
    for link in links:
        carried.setdefault(link.key.key_id, contents.get(link.event_id, ""))
    most = round(AlignOptions().pairs_per_event * len(contents))
    return answered_pairs(chat, keys, alignment, most, lambda key_ids: {one: carried[one] for one in key_ids})


def _aligned(links: Sequence[EventKey], confirm: Confirm | None = None) -> Alignment:
    keys = {link.key.key_id: link.key for link in links if link.key.value_string is not None}
    counts: dict[str, int] = defaultdict(int)
    for link in links:
        counts[link.key.key_id] += link.event_id[:1] == "e"
    columns = KeyColumns(
        list(keys),
        [key.key_type for key in keys.values()],
        [str(key.value_string) for key in keys.values()],
        [normal_name(str(key.value_string)) for key in keys.values()],
        [counts[key_id] for key_id in keys],
    )
    said = [(link.key.key_id, link.same_as) for link in links if link.same_as]
    alignment = align_keys(columns, said=said)
    return align_keys(columns, said=said, answered=confirm(columns, alignment)) if confirm else alignment


def measure(given: AliasSet, links: Sequence[EventKey], alignment: Alignment, half: str) -> dict[str, Any]:
    """Shares in percent over the things of one half."""
    canonical = alignment.canonical
    things, names = _things_of(given, links)
    ends: dict[str, set[str]] = defaultdict(set)
    stands_for: dict[str, set[str]] = defaultdict(set)
    for key_id, own in things.items():
        for thing in own:
            ends[thing].add(canonical.get(key_id, key_id))
            stands_for[canonical.get(key_id, key_id)].add(thing)
    counted = [f"t{one.number}" for one in given.things if one.half == half]
    several = [thing for thing in counted if len(names[thing]) > 1 and thing in ends]
    wrong = [thing for thing in counted if any(len(stands_for[key]) > 1 for key in ends[thing])]
    split = [thing for thing in several if len(ends[thing]) > 1]
    return {
        "things": len(several),
        "names": sum(len(names[thing]) for thing in several),
        "splits": round(100 * len(split) / max(1, len(several)), 1),
        "wrong merges": round(100 * len(wrong) / max(1, sum(thing in ends for thing in counted)), 2),
        "split": split,
        "wrong": wrong,
    }


def _things_of(given: AliasSet, links: Iterable[EventKey]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The things that each key means where it stands, and the names of each thing in the passages."""
    documents = {one.document_id: one for one in given.documents}
    here = {
        document_id: {normal_name(name): f"t{thing.number}" for name, thing in own.items()}
        for document_id, own in given.named.items()
    }
    everywhere = {name: f"t{thing.number}" for name, thing in given.thing_of.items()}
    found: dict[str, set[str]] = defaultdict(set)
    for link in links:
        if link.key.value_string is None:
            continue
        name = normal_name(link.key.value_string)
        if link.key.key_type == TITLE:
            found[link.key.key_id].add(title_thing(given, documents[link.document_id]))
        elif name in here[link.document_id]:
            found[link.key.key_id].add(here[link.document_id][name])
        elif name in everywhere and any(one == everywhere[name] for one in here[link.document_id].values()):
            found[link.key.key_id].add(everywhere[name])
    names: dict[str, set[str]] = defaultdict(set)
    for own in here.values():
        for name, thing in own.items():
            names[thing].add(name)
    return found, names


def shown_known() -> Iterator[dict[str, Any]]:
    """Of a first ingest of the demo and of one Chinese report: questions about keys, and those without known keys."""
    demo = [
        Document(path.stem, "demo", path.stem, path.read_text(encoding="utf-8"), "")
        for path in sorted((Path(__file__).parents[1] / "data" / "documents").rglob("*.md"))
    ]
    report = gzip.decompress((DATA / "longdocs" / "alibaba_fy2025_interim_zh.md.gz").read_bytes()).decode()
    for name, documents in (("demo", demo), ("report", [Document("r", "r", "", report, "")])):
        spoken = [replace(one, language=detect_language(one.text)) for one in documents]
        for label, known in (("batches of 128", _NO_WAVES), ("waves", KnownOptions())):
            with ChatServer(read_well) as server:
                chat = OpenAIChat("m", base_url=server.base_url, api_key="none", options=ChatOptions(concurrency=16))
                with TemporaryDirectory() as folder, AnswerCache(Path(folder) / "a") as cache:
                    list(_keys_of(CachedChat(chat, cache), AliasSet(spoken, []), known))
                asked = [first_prompt_of(one.request) for one in server.calls if is_about_keys(one.request)]
            without = sum(not known_names(prompt) for prompt in asked)
            yield {"corpus": name, "asked in": label, "questions": len(asked), "without known keys": without}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="; ".join(("rules", *ROWS)))
    parser.add_argument("--passages", type=int, nargs="*", default=[100, 2_000])
    parser.add_argument("--held-out", action="store_true", help="also the half that is looked at once")
    parser.add_argument("--show", action="store_true", help="the things that are split or wrongly merged")
    parser.add_argument("--parts", action="store_true", help="also what the tokens are spent on, by part of a prompt")
    parser.add_argument("--shown", action="store_true", help="how many questions show known keys, and nothing else")
    asked = parser.parse_args()
    if asked.shown:
        for row in shown_known():
            print(json.dumps(row))
        return
    makers: dict[str, Callable[[AliasSet], Made]] = {"rules": by_rules}
    makers |= {name: partial(by_model, row=row) for name, row in ROWS.items()}
    for count in asked.passages:
        given = read_set(count)
        for name in asked.rows or makers:
            _print_row(given, {"passages": count, "row": name}, makers[name](given), asked)


def _print_row(given: AliasSet, labels: dict[str, Any], made: Made, asked: argparse.Namespace) -> None:
    spent = {step: round(value, 2) for step, value in made.tokens.items()}
    for row in made.parts if asked.parts else ():
        print(json.dumps(labels | row), flush=True)
    names = {f"t{one.number}": " | ".join(one.names) for one in given.things}
    for half in HALVES[: 1 + asked.held_out]:
        shown = labels | {"half": half} | measure(given, made.keys, made.alignment, half)
        hidden = {key: shown.pop(key) for key in ("split", "wrong")}
        shown |= {"tokens": round(sum(spent.values()), 2), "by step": spent}
        print(json.dumps(shown, ensure_ascii=False), flush=True)
        for kind, things in hidden.items() if asked.show else ():
            print(f"  {kind}:", *(names[one] for one in things), sep="\n    ")


if __name__ == "__main__":
    main()
