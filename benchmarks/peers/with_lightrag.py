"""LightRAG (lightrag-hku): its defaults with its local files; passages by its structured query in mode `mix`.

Its module for OpenAI installs packages when it is imported, so OpenAI's client is called here. Its tokenizer would be
downloaded, so tokens are counted by words and marks; passages are shorter than its chunks.
"""

import asyncio
import re
from typing import Any

import numpy as np
from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer
from openai import AsyncOpenAI
from task import Ask, Task, main


class Words:
    """Encodes a text as its words, so that any stretch of it can be decoded."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.words: list[str] = []

    def encode(self, content: str) -> list[int]:
        """Numbers of words with the white space after them."""
        found = re.findall(r"\w+\s*|\W\s*", content)
        for word in found:
            if word not in self.numbers:
                self.numbers[word] = len(self.words)
                self.words.append(word)
        return [self.numbers[word] for word in found]

    def decode(self, tokens: list[int]) -> str:
        """The text again."""
        return "".join(self.words[token] for token in tokens)


async def _made(task: Task) -> LightRAG:
    client = AsyncOpenAI(base_url=task.base_url, api_key="none")

    async def embed(texts: list[str], **_: Any) -> np.ndarray:  # noqa: ANN401  whatever else it receives
        reply = await client.embeddings.create(model="hashed", input=texts, encoding_format="float")
        return np.array([each.embedding for each in reply.data], np.float32)

    async def complete(prompt: str, system_prompt: str | None = None, **given: Any) -> str:  # noqa: ANN401
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        said = [*system, *given.get("history_messages", ()), {"role": "user", "content": prompt}]
        reply = await client.chat.completions.create(model=task.model, messages=said)
        return reply.choices[0].message.content or ""

    rag = LightRAG(
        working_dir=task.folder,
        llm_model_func=complete,
        embedding_func=EmbeddingFunc(embedding_dim=task.dimension, max_token_size=8192, func=embed),
        tokenizer=Tokenizer("words", Words()),
    )
    await rag.initialize_storages()
    return rag


def index(task: Task) -> None:
    """Insert every passage as a document of its own."""

    async def insert() -> None:
        rag = await _made(task)
        ids = [each["id"] for each in task.passages]
        await rag.ainsert(task.texts(), ids=ids, file_paths=[f"{each}.txt" for each in ids])
        await rag.finalize_storages()

    asyncio.run(insert())


def opened(task: Task) -> Ask:
    """The stored graph."""
    loop = asyncio.new_event_loop()
    rag = loop.run_until_complete(_made(task))

    async def ranked(question: str) -> list[str]:
        wanted = QueryParam(mode="mix", chunk_top_k=task.top_k, enable_rerank=False)
        found = await rag.aquery_data(question, wanted)
        return list(dict.fromkeys(each["file_path"].removesuffix(".txt") for each in found["data"].get("chunks", ())))

    return lambda question: loop.run_until_complete(ranked(question))


if __name__ == "__main__":
    main(index, opened)
