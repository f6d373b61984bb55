"""LanceDB's hybrid search: its full-text index with its defaults, its vector search, reciprocal rank fusion."""

import lancedb
from lancedb.index import FTS
from lancedb.query import MatchQuery
from lancedb.rerankers import RRFReranker
from task import Ask, Task, embedded, main


def index(task: Task) -> None:
    """Embed and write a table with a full-text index."""
    texts = task.texts()
    vectors = embedded(task, texts)
    rows = [
        {"id": each["id"], "text": text, "vector": vector}
        for each, text, vector in zip(task.passages, texts, vectors, strict=True)
    ]
    lancedb.connect(task.folder).create_table("passages", rows).create_index("text", config=FTS())


def opened(task: Task) -> Ask:
    """The table."""
    table = lancedb.connect(task.folder).open_table("passages")

    def ask(question: str) -> list[str]:
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        query = query.vector(embedded(task, [question])[0]).text(MatchQuery(question, "text"))
        return query.rerank(RRFReranker()).limit(task.top_k).to_arrow()["id"].to_pylist()

    return ask


if __name__ == "__main__":
    main(index, opened)
