"""Answers of a small model to every question that sag asks: right in shape, decided by the prompt alone."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.chat_server import Request, first_prompt_of, schema_of
from tests.support.scripted_answers import read_well
from tests.support.scripted_writer import lines_of, write_well
from tests.support.simulated_judge import SimulatedJudge

_JUDGED = ("ChosenPaths", "Chosen", "DocumentScores", "Decision")
_WRITTEN = ("ThemeAnswer", "ListedAnswer", "ReportAnswer", "PartialAnswer", "GlobalAnswer")
_LONGEST = 80


class SmallModel:
    """The script of a server. Asked whether it is enough, it says no once and plans once more."""

    def __init__(self) -> None:
        self._judge = SimulatedJudge({})
        self._own: dict[str, Callable[[Request], Any]] = {
            "Described": _described,
            "Rewrite": lambda request: {"question": _question(request), "keys": [], "sql": ""},
            "DraftPlan": lambda request: _plan(_question(request)),
            "Verdict": _verdict,
            "ModelAnswer": _answer,
            "WrittenSql": lambda _: {"is_answerable": False},
            "Choice": lambda request: {"numbers": [line["n"] for line in lines_of(request)][:3]},
            "ShortPassages": lambda request: {"passages": [_short(line) for line in lines_of(request)[:3]]},
            "GeneratedAnswer": lambda request: {"answer": _text(lines_of(request))},
        }

    def __call__(self, request: Request) -> Any:
        schema = schema_of(request)
        if schema in _JUDGED:
            return self._judge(request)
        if schema in _WRITTEN:
            return write_well(request)
        return self._own.get(schema, read_well)(request)


def _question(request: Request) -> str:
    prompt = first_prompt_of(request)
    return prompt.rsplit("Question: ", 1)[-1].rsplit("问题：", 1)[-1].strip()


def _text(lines: list[dict[str, Any]]) -> str:
    return str(lines[0]["text"])[:_LONGEST] if lines else ""


def _short(line: dict[str, Any]) -> dict[str, Any]:
    return {"n": line["n"], "text": str(line["text"])[:_LONGEST]}


def _described(request: Request) -> dict[str, Any]:
    lines = lines_of(request)
    return {
        "title": _text(lines)[:20],
        "summary": [{"text": line["text"], "events": [line["n"]]} for line in lines[:2]],
    }


def _plan(question: str) -> dict[str, Any]:
    return {"nodes": [{"id": "q1", "question": question, "keys": [], "sql": ""}], "edges": []}


def _verdict(request: Request) -> dict[str, Any]:
    known = [line for line in first_prompt_of(request).splitlines() if line.startswith("{") and '"answer"' in line]
    is_first = len([json.loads(line) for line in known]) <= 1
    further = _plan(f"{_question(request)} When?") if is_first else {"nodes": [], "edges": []}
    return {"thinking": "", "is_enough": not is_first, "missing": "when" if is_first else ""} | further


def _answer(request: Request) -> dict[str, Any]:
    lines = lines_of(request)
    return {"is_found": bool(lines), "answer": _text(lines), "cited": [line["n"] for line in lines[:1]]}
