"""What each package does with the task; imported in its own environment, so only the standard library at the top.

    python packages.py bm25s index|query TASK.json ANSWER.json

Only the package's own work is timed: processor seconds of this process and its children after its imports.
"""

# ruff: noqa: ANN401, PLC0415  each package is there in its own environment alone

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
        return [f"{each['title']}\n{each['text']}" for each in self.passages]

    def ids(self) -> list[str]:
        return [each["id"] for each in self.passages]


Ask = Callable[[str], list[str]]
Package = tuple[Callable[[Task], object], Callable[[Task], Ask]]
"""Writes an index; opens it, as what ranks ids of passages for a question."""


def bm25s() -> Package:
    """Words stemmed by PyStemmer, its own stop words for English, its defaults else."""
    import bm25s
    import Stemmer

    def tokens(texts: list[str] | str) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)

    def index(task: Task) -> None:
        made = bm25s.BM25()
        made.index(tokens(task.texts()), show_progress=False)
        made.save(task.folder)

    def opened(task: Task) -> Ask:
        found, ids = bm25s.BM25.load(task.folder), task.ids()

        def ask(question: str) -> list[str]:
            rows, _ = found.retrieve(tokens(question), k=min(task.top_k, len(ids)), show_progress=False)
            return [ids[row] for row in rows[0]]

        return ask

    return index, opened


def lancedb() -> Package:
    """Its hybrid search: its full-text index with its defaults, its vector search, reciprocal rank fusion."""
    import lancedb
    from lancedb.index import FTS
    from lancedb.query import MatchQuery
    from lancedb.rerankers import RRFReranker
    from openai import OpenAI

    def embedded(task: Task, texts: list[str], batch: int = 64) -> list[list[float]]:
        client, found = OpenAI(base_url=task.base_url, api_key="none"), []
        for start in range(0, len(texts), batch):
            given = texts[start : start + batch]
            reply = client.embeddings.create(model=task.model, input=given, encoding_format="float")
            found += [each.embedding for each in reply.data]
        return found

    def index(task: Task) -> None:
        columns = zip(task.ids(), task.texts(), embedded(task, task.texts()), strict=True)
        rows = [{"id": name, "text": text, "vector": vector} for name, text, vector in columns]
        lancedb.connect(task.folder).create_table("passages", rows).create_index("text", config=FTS())

    def opened(task: Task) -> Ask:
        table = lancedb.connect(task.folder).open_table("passages")

        def ask(question: str) -> list[str]:
            query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
            query = query.vector(embedded(task, [question])[0]).text(MatchQuery(question, "text"))
            return query.rerank(RRFReranker()).limit(task.top_k).to_arrow()["id"].to_pylist()

        return ask

    return index, opened


class Words:
    """Encodes a text as its words, so that any stretch of it can be decoded."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def encode(self, content: str) -> list[int]:
        return [self.numbers.setdefault(word, len(self.numbers)) for word in re.findall(r"\w+\s*|\W\s*", content)]

    def decode(self, tokens: list[int]) -> str:
        words = list(self.numbers)
        return "".join(words[token] for token in tokens)


def lightrag() -> Package:
    """Its defaults with its local files; passages by its structured query in mode `mix`.

    OpenAI's client is called here, as its own module installs packages; tokens are words and marks, for its tokenizer
    would be downloaded.
    """
    import numpy as np
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import EmbeddingFunc, Tokenizer
    from openai import AsyncOpenAI

    async def made(task: Task) -> LightRAG:
        client = AsyncOpenAI(base_url=task.base_url, api_key="none")

        async def embed(texts: list[str], **_: Any) -> np.ndarray:
            reply = await client.embeddings.create(model="hashed", input=texts, encoding_format="float")
            return np.array([each.embedding for each in reply.data], np.float32)

        async def complete(prompt: str, system_prompt: str | None = None, **given: Any) -> str:
            system = [{"role": "system", "content": system_prompt}] if system_prompt else []
            said = [*system, *given.get("history_messages", ()), {"role": "user", "content": prompt}]
            reply = await client.chat.completions.create(model=task.model, messages=said)
            return reply.choices[0].message.content or ""

        embedding = EmbeddingFunc(embedding_dim=task.dimension, max_token_size=8192, func=embed)
        words = Tokenizer("words", Words())
        rag = LightRAG(working_dir=task.folder, llm_model_func=complete, embedding_func=embedding, tokenizer=words)
        await rag.initialize_storages()
        return rag

    async def insert(task: Task) -> None:
        rag = await made(task)
        await rag.ainsert(task.texts(), ids=task.ids(), file_paths=[f"{each}.txt" for each in task.ids()])
        await rag.finalize_storages()

    def opened(task: Task) -> Ask:
        loop = asyncio.new_event_loop()
        rag = loop.run_until_complete(made(task))
        wanted = QueryParam(mode="mix", chunk_top_k=task.top_k, enable_rerank=False)

        def ask(question: str) -> list[str]:
            found = loop.run_until_complete(rag.aquery_data(question, wanted))
            chunks = found["data"].get("chunks", ())
            return list(dict.fromkeys(each["file_path"].removesuffix(".txt") for each in chunks))

        return ask

    return lambda task: asyncio.run(insert(task)), opened


def zleap() -> Package:
    """zleap-sag: its defaults with its local files; chunks by `pruned_expand_rff`, which ranks without a model.

    Its other profiles let the model choose among events, which a script could only do by knowing the answers. The model
    names the entities of a question.
    """
    from zleap.sag import DataEngine, EngineConfig
    from zleap.sag.config import EmbeddingConfig, LLMConfig
    from zleap.sag.pipeline import SearchOptions, SearchRequest, SearchScope, TextSource
    from zleap.sag.pipeline.contracts import SourceDescriptor

    def engine_of(task: Task) -> DataEngine:
        llm = LLMConfig(api_key="none", base_url=task.base_url, model=task.model)
        embedding = EmbeddingConfig(model="hashed", schema_dimensions=task.dimension, max_tokens=8192)
        return DataEngine(EngineConfig(storage_mode="normal", data_dir=task.folder, llm=llm, embedding=embedding))

    async def insert(task: Task) -> dict[str, object]:
        places = {}
        async with engine_of(task) as engine:
            for each, text in zip(task.passages, task.texts(), strict=True):
                descriptor = SourceDescriptor(source_type="text", external_id=each["id"], title=each["title"])
                found = await engine.extract(await engine.ingest(TextSource(text=text, descriptor=descriptor)))
                places[found.source_id] = each["id"]
        return {"data_source": found.data_source_id, "passages": places}

    def index(task: Task) -> None:
        Path(task.folder, "passages.json").write_text(json.dumps(asyncio.run(insert(task))))

    def opened(task: Task) -> Ask:
        said = json.loads(Path(task.folder, "passages.json").read_text())
        scope = SearchScope(data_source_ids=(said["data_source"],))
        options = SearchOptions(strategy="pruned_expand_rff", top_k=task.top_k, return_type="chunk")
        loop = asyncio.new_event_loop()
        engine = loop.run_until_complete(engine_of(task).__aenter__())

        def ask(question: str) -> list[str]:
            request = SearchRequest(query=question, scope=scope, options=options)
            found = loop.run_until_complete(engine.search(request))
            return list(dict.fromkeys(said["passages"][chunk.source_id] for chunk in found.chunks))

        return ask

    return index, opened


def sag() -> Package:
    """`sag` by its command and its default search, with the common vectors, by rules or by the common model."""

    def home_of(task: Task) -> Path:
        """SAG_HOME, the settings being those of the task."""
        home = Path(task.folder).resolve() / "home"
        os.environ |= {
            "SAG_HOME": str(home),
            "SAG_CHAT_MODEL": "offline" if task.model == "rules" else f"openai:{task.model}",
            "SAG_EMBEDDING_MODEL": "openai:hashed",
            "OPENAI_BASE_URL": task.base_url,
            "OPENAI_API_KEY": "none",
        }
        return home

    def index(task: Task) -> None:
        source = home_of(task).parent / "passages.jsonl"
        source.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in task.passages), "utf-8")
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(source)]
        subprocess.run(command, cwd=source.parent, check=True, stdout=subprocess.DEVNULL)

    def opened(task: Task) -> Ask:
        home = home_of(task)
        from sag_retrieval import open_release  # after the settings

        search = partial(open_release(home).search, top_k=task.top_k)
        return lambda question: list(dict.fromkeys(hit.document_id for hit in search(question).hits))

    return index, opened


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    name, phase, task_file, answer_file = sys.argv[1:]
    index, opened = {each.__name__: each for each in (bm25s, lancedb, lightrag, zleap, sag)}[name]()
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


if __name__ == "__main__":
    main()
