"""Answers of a model that reads well and fast: sentences as events, names as keys, for the scripted server."""

import json
import re
from typing import Any

from tests.support.chat_server import Request, first_prompt_of, schema_of

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_NAME = re.compile(
    r"(?:[A-Z][\w'-]*(?: (?:of|the|de) (?=[A-Z])| )?)+|[“《]([^”》]+)[”》]|\d{4}年|[\u4e00-\u9fff]{2,4}(?=公司|大学|市)"
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBERED = re.compile(r'(\d+) (?=")')
_LAST = re.compile(r"\n\n[^\n]+[:：]\n")
"""The line that introduces the data, behind instructions and example."""


def read_well(request: Request) -> dict[str, Any]:
    """A right answer to each of the pipeline's questions, decided by the prompt alone."""
    prompt = first_prompt_of(request)
    return {
        "ExtractedEvents": _events,
        "ExtractedKeys": _keys,
        "ExtractedTriples": _triples,
        "SamePairs": lambda _: {"same": []},
        "RevisionVerdicts": _verdicts,
        "ExtractedSummary": _summary,
        "DocumentTitle": _title,
        "SectionMarks": _sections,
        "SectionSummary": _section_summary,
    }[schema_of(request) or _by_prompt(prompt)](prompt)


def _by_prompt(prompt: str) -> str:
    """Which question it is, where the server was not told the schema."""
    marks = {
        '"same":': "SamePairs",
        '"verdicts":': "RevisionVerdicts",
        "same_as": "ExtractedKeys",
        '"triples"': "ExtractedTriples",
        '"summary"': "ExtractedSummary",
    }
    return next((name for mark, name in marks.items() if mark in prompt), "ExtractedEvents")


def _verdicts(prompt: str) -> dict[str, Any]:
    """What was said later updates what was said earlier; without both days nothing is said."""
    pairs = [(number, said, later) for number, said, _, later, _ in data_of(prompt)]
    return {"verdicts": [{"pair": n, "verdict": "updates"} for n, said, later in pairs if said and later]}


def data_of(prompt: str) -> list[Any]:
    """What a prompt carries as data: the values of its last lines, JSON or a number before JSON strings."""
    lines = _LAST.split(prompt)[-1].split("\n")
    return [_value_of(line) for line in lines if line and (line[0] in "[{" or _NUMBERED.match(line))]


def _value_of(line: str) -> Any:
    number = _NUMBERED.match(line)
    if not number:
        return json.loads(line)
    return [int(number[1]), *strings_of(line)]


def strings_of(line: str) -> list[str]:
    return [json.loads(one) for one in _STRING.findall(line)]


def numbered_of(prompt: str) -> list[list[Any]]:
    """The numbered texts of a prompt."""
    return [row for row in data_of(prompt) if isinstance(row, list)]


def _events(prompt: str) -> dict[str, Any]:
    found = []
    for number, text in numbered_of(prompt):
        events = [sentence.strip() for sentence in _SENTENCE.split(" ".join(text.split())) if sentence.strip()]
        found.append({"passage": number, "events": events})
    return {"passages": found}


def _title(prompt: str) -> dict[str, Any]:
    """The document's first sentence."""
    start = data_of(prompt)[-1]["start"]
    return {"title": f"《{_SENTENCE.split(start)[0]}》"}


def _keys(prompt: str) -> dict[str, Any]:
    return {"events": [{"event": number, "keys": _names(text)} for number, text in numbered_events(prompt)]}


def numbered_events(prompt: str) -> list[tuple[int, str]]:
    """The events that a question about keys asks about."""
    return [(number, text) for number, text in numbered_of(prompt)]


def numbered_pairs(prompt: str) -> list[list[Any]]:
    """The pairs of names that a question asks about: number, name, sentence, name, sentence."""
    return numbered_of(prompt)


def known_names(prompt: str) -> list[str]:
    """The known keys that a question about keys shows."""
    shown = _LAST.split(prompt)[-2].split("\n")
    return [name for line in shown if ": " in line for name in strings_of(line.partition(": ")[2])]


def _names(text: str) -> list[dict[str, Any]]:
    found = dict.fromkeys((name[1] or name[0]).strip() for name in _NAME.finditer(text))
    return [{"type": "date" if name[:1].isdigit() else "topic", "value": name, "same_as": []} for name in found][:8]


def _triples(prompt: str) -> dict[str, Any]:
    found = []
    for number, _, *ends in numbered_of(prompt):
        found.append({"event": number, "triples": [[ends[0], "is named with", ends[1]]] if len(ends) > 1 else []})
    return {"events": found}


def _summary(prompt: str) -> dict[str, Any]:
    return {"summary": " ".join(" ".join(data_of(prompt)[-1]["sentences"]).split())[:300]}


def _sections(prompt: str) -> dict[str, Any]:
    """A section for every heading, of several in a row for the first; lines are numbered from 0."""
    lines = [(number, text) for number, text in numbered_of(prompt) if text.strip()]
    is_heading = [text.startswith("#") for _, text in lines]
    marks = [line for n, line in enumerate(lines) if is_heading[n] and not (n and is_heading[n - 1])] or lines[:1]
    return {"sections": [{"title": text.strip("# "), "start_index": number} for number, text in marks]}


def _section_summary(prompt: str) -> dict[str, Any]:
    return {"summary": " ".join(data_of(prompt)[-1]["text"].split())[:100]}
