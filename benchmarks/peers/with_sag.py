"""`sag` itself by its command and its default search, with the common vectors, by rules or by the common model."""

import json
import os
import subprocess
import sys
from pathlib import Path

from task import Ask, Task, main

RULES = "rules"
"""As the name of the model: extraction without one."""


def index(task: Task) -> None:
    """Ingest the passages as a source of JSON Lines."""
    home = _home(task)
    source = home.parent / "passages.jsonl"
    source.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in task.passages), encoding="utf-8")
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(source)]
    subprocess.run(command, cwd=home.parent, check=True, stdout=subprocess.DEVNULL)


def opened(task: Task) -> Ask:
    """The release."""
    from sag_retrieval import open_release  # noqa: PLC0415  after the settings

    release = open_release(_home(task))

    def ask(question: str) -> list[str]:
        return list(dict.fromkeys(hit.document_id for hit in release.search(question, top_k=task.top_k).hits))

    return ask


def _home(task: Task) -> Path:
    """SAG_HOME, the settings being those of the task."""
    home = Path(task.folder).resolve() / "home"
    chat = "offline" if task.model == RULES else f"openai:{task.model}"
    os.environ |= {
        "SAG_HOME": str(home),
        "SAG_CHAT_MODEL": chat,
        "SAG_EMBEDDING_MODEL": "openai:hashed",
        "OPENAI_BASE_URL": task.base_url,
        "OPENAI_API_KEY": "none",
    }
    return home


if __name__ == "__main__":
    main(index, opened)
