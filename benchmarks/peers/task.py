"""What a peer is given and gives back; imported in every peer's environment, so only the standard library.

    python with_bm25s.py index|query TASK.json ANSWER.json

Only the package's own work is timed: processor seconds of this process and its children after its imports.
"""

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Task:
    """Passages (`id`, `title`, `text`), questions (`id`, `text`), and where models and files are."""

    passages: list[dict[str, str]]
    questions: list[dict[str, str]]
    base_url: str
    model: str
    dimension: int
    folder: str
    top_k: int

    def texts(self) -> list[str]:
        """Each passage with its title before it."""
        return [f"{each['title']}\n{each['text']}" for each in self.passages]


Ask = Callable[[str], list[str]]


def cpu_seconds() -> float:
    """User and system seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(index: Callable[[Task], None], opened: Callable[[Task], Ask]) -> None:
    """Do one phase. `opened` opens what `index` wrote; what it returns ranks ids of passages for a question."""
    phase, task_file, answer_file = sys.argv[1:]
    task = Task(**json.loads(Path(task_file).read_text(encoding="utf-8")))
    started = cpu_seconds()
    answer: dict[str, Any] = {}
    if phase == "index":
        index(task)
        answer["cpu"] = cpu_seconds() - started
    else:
        ask = opened(task)
        answer["open_cpu"] = cpu_seconds() - started
        answer["ranked"], answer["seconds"] = {}, []
        for question in task.questions:
            before = cpu_seconds()
            answer["ranked"][question["id"]] = ask(question["text"])
            answer["seconds"].append(cpu_seconds() - before)
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


def embedded(task: Task, texts: list[str], batch: int = 64) -> list[list[float]]:
    """Vectors of texts from the common server, by OpenAI's client."""
    from openai import OpenAI  # noqa: PLC0415  not every peer has it

    client = OpenAI(base_url=task.base_url, api_key="none")
    found = []
    for start in range(0, len(texts), batch):
        reply = client.embeddings.create(model=task.model, input=texts[start : start + batch], encoding_format="float")
        found += [each.embedding for each in reply.data]
    return found
