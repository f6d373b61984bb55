"""Answers of a model that writes about themes from the lines of its prompt alone, for the scripted server."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from sag_retrieval.llm_writing.written import LISTS
from tests.support.chat_server import Request, first_prompt_of, schema_of

Lines = Sequence[dict[str, Any]]


def lines_of(request: Request) -> list[dict[str, Any]]:
    """The numbered lines of a prompt."""
    found = (json.loads(line) for line in first_prompt_of(request).splitlines() if line.startswith('{"n"'))
    return list(found)


def write_well(request: Request) -> dict[str, Any]:
    """A right answer: each sentence is that of a line, and cites it."""
    lines = lines_of(request)
    answers = {
        "ThemeAnswer": _theme,
        "ListedAnswer": _lists,
        "ReportAnswer": _report,
        "PartialAnswer": _points,
        "GlobalAnswer": _answer,
    }
    return answers[schema_of(request)](lines)


def _sentence(line: dict[str, Any]) -> dict[str, Any]:
    return {"text": line["text"], "cited": [line["n"]]}


def _finding(line: dict[str, Any], importance: int) -> dict[str, Any]:
    return _sentence(line) | {"importance": importance, "reason": " ".join(line["text"].split()[:3])}


def _theme(lines: Lines) -> dict[str, Any]:
    text = str(lines[0]["text"])
    title = " ".join(text.split()[:4]).rstrip(".,") if " " in text else text[:8]
    return {"title": title, "summary": [_sentence(line) for line in lines[:3]], "findings": [_finding(lines[-1], 6)]}


def _lists(lines: Lines) -> dict[str, Any]:
    listed = {name: [_sentence(line)] for name, line in zip(LISTS, [*lines, *lines[:1] * len(LISTS)], strict=False)}
    return {**listed, "overtaken": []}


def _report(lines: Lines) -> dict[str, Any]:
    return {
        "summary": [_sentence(line) for line in lines[:3]],
        "findings": [_finding(line, 9 - place) for place, line in enumerate(lines[:5])],
    }


def _points(lines: Lines) -> dict[str, Any]:
    return {"points": [_sentence(line) | {"rating": 8 - place} for place, line in enumerate(lines[:2])]}


def _answer(lines: Lines) -> dict[str, Any]:
    return {"is_found": True, "sentences": [_sentence(line) for line in lines[:3]]}


def instead(schema: str, answer: Any) -> Callable[[Request], Any]:
    """The same, but with another answer to the requests of one schema: a value, or a function of the request."""

    def script(request: Request) -> Any:
        if schema_of(request) != schema:
            return write_well(request)
        return answer(request) if callable(answer) else answer

    return script
