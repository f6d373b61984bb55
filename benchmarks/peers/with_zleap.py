"""zleap-sag: its defaults with its local files; chunks by its profile `pruned_expand_rff`, which ranks without a model.

Its other profiles let the model choose among events, which a script could only do by knowing the answers. The model
names the entities of a question.
"""

import asyncio
import json
from pathlib import Path

from task import Ask, Task, main
from zleap.sag import DataEngine, EngineConfig
from zleap.sag.config import EmbeddingConfig, LLMConfig
from zleap.sag.pipeline import SearchOptions, SearchRequest, SearchScope, TextSource
from zleap.sag.pipeline.contracts import SourceDescriptor

STRATEGY = "pruned_expand_rff"


def _config(task: Task) -> EngineConfig:
    return EngineConfig(
        storage_mode="normal",
        data_dir=task.folder,
        llm=LLMConfig(api_key="none", base_url=task.base_url, model=task.model),
        embedding=EmbeddingConfig(model="hashed", schema_dimensions=task.dimension, max_tokens=8192),
    )


def index(task: Task) -> None:
    """Ingest and extract every passage as a source of its own; note which source is which passage."""

    async def insert() -> dict[str, object]:
        places = {}
        async with DataEngine(_config(task)) as engine:
            for each, text in zip(task.passages, task.texts(), strict=True):
                descriptor = SourceDescriptor(source_type="text", external_id=each["id"], title=each["title"])
                chunks = await engine.ingest(TextSource(text=text, descriptor=descriptor))
                found = await engine.extract(chunks)
                places[found.source_id] = each["id"]
        return {"data_source": found.data_source_id, "passages": places}

    Path(task.folder, "passages.json").write_text(json.dumps(asyncio.run(insert())))


def opened(task: Task) -> Ask:
    """The stored engine."""
    said = json.loads(Path(task.folder, "passages.json").read_text())
    scope = SearchScope(data_source_ids=(said["data_source"],))
    options = SearchOptions(strategy=STRATEGY, top_k=task.top_k, return_type="chunk")
    loop = asyncio.new_event_loop()
    engine = loop.run_until_complete(DataEngine(_config(task)).__aenter__())

    def ask(question: str) -> list[str]:
        request = SearchRequest(query=question, scope=scope, options=options)
        found = loop.run_until_complete(engine.search(request))
        return list(dict.fromkeys(said["passages"][chunk.source_id] for chunk in found.chunks))

    return ask


if __name__ == "__main__":
    main(index, opened)
