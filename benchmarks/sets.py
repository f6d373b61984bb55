"""Question sets over real documents: JSONL lines for `sag ingest`, questions, and where their evidence stands."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import normal_name

DATA: Final = Path(__file__).parents[2] / "shared" / "data"

Spans = list[tuple[str, int, int]]
"""Document, first character, after the last one."""


@dataclass(frozen=True)
class Question:
    """A question, its kind, and what answers it: whole documents, spans in them, or passages quoted from them.

    `quotes` holds a document and the texts of each, a sentence or the cells of a row, for files whose text is known
    only after they were converted. Where documents are named, they are what recall counts first, else passages.
    """

    question_id: str
    text: str
    kind: str
    documents: tuple[str, ...] = ()
    spans: tuple[tuple[str, int, int], ...] = ()
    quotes: tuple[tuple[str, ...], ...] = ()

    @property
    def is_held_out(self) -> bool:
        return is_held_out(self.question_id)


def is_held_out(question_id: str) -> bool:
    return int(hashlib.blake2b(question_id.encode(), digest_size=8).hexdigest(), 16) % 2 == 1


def hash_of(text: str) -> int:
    """A number that a text always has, by which questions are drawn and divided."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest(), "big")


def bare(text: str) -> str:
    """Its letters and digits, for comparing passages."""
    return "".join(filter(str.isalnum, text)).casefold()


@dataclass(frozen=True)
class QuestionSet:
    """Lines of a JSONL source, or a folder of files, and the questions over it."""

    lines: list[dict[str, Any]]
    questions: list[Question]
    folder: Path | None = None


def read(name: str) -> pd.DataFrame:
    return pd.read_parquet(DATA / f"{name}.parquet")


def _line(document: str, title: str, text: str) -> dict[str, Any]:
    return {"id": document, "title": title, "text": text}


def _passages(name: str, kind: str = "") -> QuestionSet:
    lines = [_line(row.doc_id, row.title, row.text) for row in read(f"{name}.docs").itertuples()]
    questions = [
        Question(row.qid, row.question, str(getattr(row, kind)) if kind else "all", tuple(row.gold_doc_ids))
        for row in read(f"{name}.questions").itertuples()
        if row.question.strip()
    ]
    return QuestionSet(lines, questions)


def musique_recorded() -> QuestionSet:
    """Events are sentences, their keys the recorded entities and ends of triples that stand in them.

    A recorded triple belongs to the first sentence that holds both ends, or most of them.
    """
    found = _passages("musique_train", "hops")
    recorded = read("musique_train.extraction").set_index("doc_id")
    for line in found.lines:
        names = _recorded_names(recorded.loc[line["id"]])
        line["events"] = [
            {"content": sentence, "keys": [{"type": "name", "value": name} for name in _standing(names, sentence)]}
            for sentence in sentences(line["text"])
        ]
        for triple in recorded_triples(recorded.loc[line["id"]]) if line["events"] else ():
            ends = {normal_name(end): end for end in (triple[0], triple[2])}
            event = max(line["events"], key=lambda event, ends=ends: len(_standing(ends, event["content"])))
            event.setdefault("triples", []).append(triple)
    return found


def _recorded_names(row: Any) -> dict[str, str]:  # noqa: ANN401  a row of pandas
    names = [*row.entities, *(end for head, _, tail in recorded_triples(row) for end in (head, tail))]
    return {normal_name(name): name for name in names if normal_name(name)}


def recorded_triples(row: Any) -> list[list[str]]:  # noqa: ANN401  a row of pandas
    triples = (triple for triple in json.loads(row.triples) if isinstance(triple, list) and len(triple) == 3)
    return [triple for triple in triples if all(isinstance(part, str) for part in triple)]


def _standing(names: dict[str, str], sentence: str) -> list[str]:
    padded = f" {normal_name(sentence)} "
    return [name for folded, name in names.items() if f" {folded} " in padded]


def dragonball(language: str, *, every: int = 1) -> QuestionSet:
    """Long reports, cases and records; gold are evidence sentences. `every`: one document of this many sentences."""
    table = read("dragonball.docs")
    table = table[table.language == language].iloc[::every]
    texts = dict(zip(table.doc_id, table.text, strict=True))
    lines = [_line(row.doc_id, row.name, row.text) for row in table.itertuples(index=False)]
    questions = []
    for row in read("dragonball.questions").itertuples():
        evidence = json.loads(row.evidence)
        if row.unanswerable or not evidence or not all(piece["doc_id"] in texts for piece in evidence):
            continue
        spans = [_find(piece["doc_id"], texts[piece["doc_id"]], piece["text"]) for piece in evidence]
        questions.append(Question(row.qid, row.question, row.type, spans=tuple(span for span in spans if span)))
    return QuestionSet(lines, [question for question in questions if question.spans])


def untitled(questions: QuestionSet) -> QuestionSet:
    """The same with numbers for titles: files are seldom named as people ask for them."""
    lines = [line | {"title": f"No. {number}"} for number, line in enumerate(questions.lines, start=1)]
    return QuestionSet(lines, questions.questions)


def _find(document: str, text: str, piece: str) -> tuple[str, int, int] | None:
    """Where a piece stands, white space and punctuation aside."""
    places = [place for place, character in enumerate(text) if character.isalnum()]
    wanted = "".join(filter(str.isalnum, piece))
    start = "".join(text[place] for place in places).find(wanted) if wanted else -1
    return None if start < 0 else (document, places[start], places[start + len(wanted) - 1] + 1)


def locomo() -> QuestionSet:
    """Sessions of talks as documents, turns as lines; gold are turns."""
    lines, place = [], {}
    for (conversation, session), turns in read("locomo.turns").groupby(["conv", "session"], sort=False):
        speakers = " and ".join(dict.fromkeys(turns.speaker))
        document, text = f"{conversation}/D{int(session):02}", ""
        for turn in turns.itertuples():
            said = f"{turn.speaker}: {turn.text}"
            place[turn.doc_id] = (document, len(text), len(text) + len(said))
            text += f"{said}\n"
        lines.append(_line(document, f"{speakers}, {turns.session_time.iloc[0]}", text))
    questions = [
        Question(
            row.qid, row.question, str(row.category), spans=tuple(place[g] for g in row.gold_doc_ids if g in place)
        )
        for row in read("locomo.questions").itertuples()
        if str(row.category) != "5"
    ]
    return QuestionSet(lines, [question for question in questions if question.spans])


def locomo_recorded() -> QuestionSet:
    """The same with events as a model recorded them of each session: who did or said what, in words of its own."""
    found, said = locomo(), dict[str, list[dict[str, str]]]()
    for row in read("locomo.observations").itertuples():
        said.setdefault(f"{row.conv}/D{int(row.session):02}", []).append({"content": row.observation})
    return QuestionSet([line | {"events": said.get(line["id"], [])} for line in found.lines], found.questions)


def dragonball_recorded() -> QuestionSet:
    """The Chinese reports with the events that a model wrote them from, where these are known; hospitals have none."""
    found, said = dragonball("zh"), dict[str, list[dict[str, str]]]()
    for row in read("dragonball.events").itertuples():
        told = (part for part in (row.time, row.name, row.description, row.impact) if isinstance(part, str) and part)
        said.setdefault(row.doc_id, []).append({"content": "，".join(told)})
    lines = [line | ({"events": said[line["id"]]} if line["id"] in said else {}) for line in found.lines]
    return QuestionSet(lines, found.questions)


def lihua() -> QuestionSet:
    lines = [
        _line(row.doc_id, re.sub(r"(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", row.doc_id), row.text)
        for row in read("lihua_world.docs").itertuples()
    ]
    questions = [
        Question(row.qid, row.question, row.type, tuple(row.gold_doc_ids))
        for row in read("lihua_world.questions").itertuples()
        if len(row.gold_doc_ids)
    ]
    return QuestionSet(lines, questions)


def small_musique() -> QuestionSet:
    """Twenty questions over 200 passages with recorded keys, for every run."""
    whole = musique_recorded()
    questions = whole.questions[:20]
    gold = {document for question in questions for document in question.documents}
    others = [line for line in whole.lines if line["id"] not in gold]
    chosen = [line for line in whole.lines if line["id"] in gold]
    return QuestionSet(chosen + others[: 200 - len(chosen)], questions)


SETS: Final[dict[str, Callable[[], QuestionSet]]] = {
    "musique": musique_recorded,
    "musique-rules": lambda: _passages("musique_train", "hops"),
    "2wiki": lambda: _passages("twowiki"),
    "hotpot": lambda: _passages("sag_test_hotpot10"),
    "cmrc": lambda: _passages("cmrc2018_trial"),
    "dragonball-zh": lambda: dragonball("zh"),
    "dragonball-zh-recorded": dragonball_recorded,
    "dragonball-en": lambda: dragonball("en"),
    "dragonball-zh-untitled": lambda: untitled(dragonball("zh")),
    "dragonball-en-untitled": lambda: untitled(dragonball("en")),
    "locomo": locomo,
    "locomo-recorded": locomo_recorded,
    "lihua": lihua,
}
SMALL: Final[dict[str, Callable[[], QuestionSet]]] = {
    "small-musique": small_musique,
    "small-dragonball-zh": lambda: dragonball("zh", every=10),
}


def write_source(lines: list[dict[str, Any]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
