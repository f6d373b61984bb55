"""Answers of a model that reads well and fast: sentences as events, names as keys, for the scripted server."""

import re
from typing import Any

from tests.support.chat_server import Request, first_prompt_of, schema_of

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_NAME = re.compile(
    r"(?:[A-Z][\w'-]*(?: (?:of|the|de) (?=[A-Z])| )?)+|[“《]([^”》]+)[”》]|\d{4}年|[\u4e00-\u9fff]{2,4}(?=公司|大学|市)"
)
_NUMBERED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def read_well(request: Request) -> dict[str, Any]:
    """A right answer to each of the pipeline's questions, decided by the prompt alone."""
    prompt = first_prompt_of(request)
    return {
        "ExtractedEvents": _events,
        "ExtractedKeys": _keys,
        "ExtractedTriples": _triples,
        "ExtractedSummary": _summary,
        "DocumentTitle": _title,
        "SectionMarks": _sections,
        "SectionSummary": _section_summary,
    }[schema_of(request) or _by_prompt(prompt)](prompt)


def _by_prompt(prompt: str) -> str:
    """Which question it is, where the server was not told the schema."""
    marks = {'"keys"': "ExtractedKeys", '"triples"': "ExtractedTriples", '"summary"': "ExtractedSummary"}
    return next((name for mark, name in marks.items() if mark in prompt), "ExtractedEvents")


def after(prompt: str, *headings: str) -> str:
    """What stands behind the last of these headings."""
    return next(prompt.rsplit(heading, 1)[1] for heading in headings if heading in prompt).strip()


def _events(prompt: str) -> dict[str, Any]:
    _, *pieces = re.split(r"^\[(?:passage|段落) (\d+)\]\n", prompt, flags=re.MULTILINE)
    found = []
    for number, text in zip(pieces[::2], pieces[1::2], strict=True):
        passage = " ".join(re.split(r"\n\n# ", text)[0].split())
        events = [sentence.strip() for sentence in _SENTENCE.split(passage) if sentence.strip()]
        found.append({"passage": int(number), "events": events})
    return {"passages": found}


def _title(prompt: str) -> dict[str, Any]:
    """The document's first sentence."""
    start = after(prompt, "Start of the document:\n", "文档开头：\n")
    return {"title": f"《{_SENTENCE.split(start)[0]}》"}


def _keys(prompt: str) -> dict[str, Any]:
    return {"events": [{"event": number, "keys": _names(text)} for number, text in numbered_events(prompt)]}


def numbered_events(prompt: str) -> list[tuple[int, str]]:
    """The events that a question about keys asks about."""
    return [(int(number), text) for number, text in _NUMBERED.findall(after(prompt, "Events:\n", "事项：\n"))]


def known_names(prompt: str) -> list[str]:
    """The known keys that a question about keys shows."""
    known = after(
        prompt.split("Events:\n", maxsplit=1)[0].split("事项：\n", maxsplit=1)[0], "Known keys:\n", "已知属性：\n"
    )
    return [name for line in known.splitlines() for name in line.partition(": ")[2].split(" | ") if name]


def _names(text: str) -> list[dict[str, Any]]:
    found = dict.fromkeys((name[1] or name[0]).strip() for name in _NAME.finditer(text))
    return [{"type": "date" if name[:1].isdigit() else "topic", "value": name, "same_as": []} for name in found][:8]


def _triples(prompt: str) -> dict[str, Any]:
    found = []
    for number, text in _NUMBERED.findall(prompt):
        names = re.findall(r"\[([^\]]*)\]$", text)
        ends = names[0].split(", ") if names else []
        found.append({"event": int(number), "triples": [[ends[0], "is named with", ends[1]]] if len(ends) > 1 else []})
    return {"events": found}


def _summary(prompt: str) -> dict[str, Any]:
    return {"summary": " ".join(after(prompt, "Sentences:\n", "句子：\n").split())[:300]}


def _sections(prompt: str) -> dict[str, Any]:
    """A section for every heading, of several in a row for the first; lines are numbered from 0."""
    lines = [(int(n), text) for n, text in re.findall(r"^\[(\d+)\] (.*\S.*)$", prompt, re.MULTILINE)]
    is_heading = [text.startswith("#") for _, text in lines]
    marks = [line for n, line in enumerate(lines) if is_heading[n] and not (n and is_heading[n - 1])] or lines[:1]
    return {"sections": [{"title": text.strip("# "), "start_index": number} for number, text in marks]}


def _section_summary(prompt: str) -> dict[str, Any]:
    return {"summary": " ".join(after(prompt, "Text:\n", "原文：\n").split())[:100]}
