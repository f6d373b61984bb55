"""What happens while a question is asked, as data and as a line to read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sag_retrieval.core.public import public

_SHOWN = 5


@public
@dataclass(frozen=True, slots=True)
class Progress:
    """Something that has just happened.

    Kinds: `background`, `rewrite`, `plan`, `started`, `answered`, `enough`, `note`, `done`.
    """

    kind: str
    data: Mapping[str, Any]

    def __str__(self) -> str:
        """One line for a terminal."""
        line = _LINES.get(self.kind)
        return line(self.data) if line else f"{self.kind}: {dict(self.data)}"


OnEvent = Callable[[Progress], None]


def _background(data: Mapping[str, Any]) -> str:
    keys = ", ".join(data["keys"][:_SHOWN])
    return f"background: {len(data['documents'])} documents" + (f"; keys {keys}" if keys else "")


def _plan(data: Mapping[str, Any]) -> str:
    steps = [
        f"  {step['id']}  {step['question']}" + (f"  (after {', '.join(step['needs'])})" if step["needs"] else "")
        for step in data["steps"]
    ]
    return "\n".join([f"plan {data['round']}:", *steps])


def _answered(data: Mapping[str, Any]) -> str:
    if data.get("fault"):
        return f"{data['id']}  failed: {data['fault']}"
    if not data["is_found"]:
        return f"{data['id']}  nothing found"
    return f"{data['id']}  → {data['answer']}  [{', '.join(data['cited'])}]"


def _enough(data: Mapping[str, Any]) -> str:
    return "enough to answer" if data["is_enough"] else f"not enough yet: {data['missing']}"


_LINES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "background": _background,
    "rewrite": lambda data: f"rewritten: {data['question']}",
    "plan": _plan,
    "started": lambda data: f"{data['id']}  … {data['question']}",
    "answered": _answered,
    "enough": _enough,
    "note": lambda data: f"note: {data['text']}",
    "done": lambda data: "answered" if data["is_found"] else "no answer in the documents",
}
