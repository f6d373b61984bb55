"""bm25s: words stemmed by PyStemmer, its own stop words for English, its defaults else."""

import json
from pathlib import Path

import bm25s
import Stemmer
from task import Ask, Task, main


def index(task: Task) -> None:
    """Tokenise, count and save."""
    tokens = bm25s.tokenize(task.texts(), stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    made = bm25s.BM25()
    made.index(tokens, show_progress=False)
    made.save(task.folder)
    Path(task.folder, "ids.json").write_text(json.dumps([each["id"] for each in task.passages]))


def opened(task: Task) -> Ask:
    """The saved index."""
    found, stemmer = bm25s.BM25.load(task.folder), Stemmer.Stemmer("english")
    ids = json.loads(Path(task.folder, "ids.json").read_text())

    def ask(question: str) -> list[str]:
        tokens = bm25s.tokenize(question, stopwords="en", stemmer=stemmer, show_progress=False)
        rows, _ = found.retrieve(tokens, k=min(task.top_k, len(ids)), show_progress=False)
        return [ids[row] for row in rows[0]]

    return ask


if __name__ == "__main__":
    main(index, opened)
