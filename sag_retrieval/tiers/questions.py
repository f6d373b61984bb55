"""The text of a question, however a caller writes it."""

from collections.abc import Mapping, Sequence

from sag_retrieval.core.errors import QueryError, RecordError


def question_text(query: object) -> str:
    """The text of `"…"`, `{"content": "…"}` or `{"content": {"text": "…"}}`.

    Raises:
        RecordError: If it has another form.
        QueryError: If the text is empty.

    """
    content = query.get("content") if isinstance(query, Mapping) else query
    text = content.get("text") if isinstance(content, Mapping) and isinstance(query, Mapping) else content
    if not isinstance(text, str):
        raise RecordError(f"a query is a text or {{'role': …, 'content': {{'text': …}}}}, got {type(query).__name__}")
    if not text.strip():
        raise QueryError("the query is empty; ask with at least one word")
    return text


def question_and_context(queries: Sequence[object]) -> tuple[str, tuple[str, ...]]:
    """The last query, which is the question, and the texts before it.

    Raises:
        RecordError: If a query has no known form.
        QueryError: If there is none, or one is empty.

    """
    if isinstance(queries, str | Mapping):
        queries = [queries]
    if not queries:
        raise QueryError("no query given; the last of the list is the question")
    texts = [question_text(query) for query in queries]
    return texts[-1], tuple(texts[:-1])
