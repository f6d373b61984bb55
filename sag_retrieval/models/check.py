"""Ask a model server what it can, within seconds, and say what that means for the documents at hand."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from sag_retrieval.models.open import ModelServer

SECONDS: Final = 5.0
"""For all questions together: what nobody minds waiting."""
LEAST_CONTEXT: Final = 8_192
"""Tokens that every prompt of sag fits into with its answer, by the default options."""
SENT, RECEIVED = 6.9, 5.2
"""Tokens sent and received for each token of text: of the recorded demo's events, keys and triples."""
_WORDS: Final = 24
_ASKED: Final = {
    "messages": [{"role": "user", "content": "Answer in JSON whether ice floats on water."}],
    "max_tokens": _WORDS,
    "temperature": 0,
}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"floats": {"type": "boolean"}},
    "required": ["floats"],
    "additionalProperties": False,
}
_STRICT: Final = {"type": "json_schema", "json_schema": {"name": "ice", "strict": True, "schema": _SCHEMA}}
_CONTEXTS: Final = ("n_ctx", "max_model_len", "loaded_context_length", "max_context_length", "context_length")
"""What llama.cpp, vLLM, LM Studio (two) and others call the context."""


def check_server(server: ModelServer, model: str, embedding: str = "", text_tokens: int = 0) -> list[dict[str, str]]:
    """Rows of name and value: models, context, slots, strict JSON, tokens a second, embeddings, hours if known."""
    headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
    ends = time.monotonic() + SECONDS
    with httpx.Client(base_url=server.address.rstrip("/") + "/", headers=headers) as client:

        def ask(method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401  JSON
            left = ends - time.monotonic()
            if left <= 0:
                return None
            try:
                reply = client.request(method, path, json=body, timeout=left)
                return reply.json() if reply.is_success else None
            except (httpx.HTTPError, ValueError):
                return None

        listed = ask("GET", "models")
        if listed is None:
            return [{"name": "server", "value": f"{server.address} does not answer; start it, or mend OPENAI_BASE_URL"}]
        root = "{0.scheme}://{0.netloc}".format(urlsplit(server.address))
        rows = dict(_of_models(listed.get("data") or [], model))
        rows |= _of_place(ask("GET", f"{root}/props") or {}, ask("POST", f"{root}/api/show", {"model": model}) or {})
        rows |= _of_answer(ask, model)
        rows["embeddings"] = _embeddings(ask("POST", "embeddings", {"model": embedding, "input": ["ice"]}), embedding)
    return [{"name": name, "value": value} for name, value in (rows | _hours(rows, text_tokens)).items()]


def _of_models(listed: list[dict[str, Any]], model: str) -> Iterator[tuple[str, str]]:
    """Whether the server has the model, and its context where the list tells it."""
    names = [str(each.get("id")) for each in listed]
    yield "models", ", ".join(names[:6]) or "none"
    yield "model", model if model in names else f"{model} is not listed; a server of one model answers all the same"
    for each in listed:
        own = {**each, **(each.get("meta") or {})}
        if (model == each.get("id") or len(listed) == 1) and (found := [own[n] for n in _CONTEXTS if own.get(n)]):
            yield "context", str(found[0])


def _of_place(props: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, str]:
    """Slots and context of llama.cpp; the longest context of a model of Ollama, which its settings may cut."""
    found = {}
    if "total_slots" in props:
        found = {"slots": str(props["total_slots"])}
        found["context"] = str(props.get("default_generation_settings", {}).get("n_ctx", "not told"))
    for name, value in (shown.get("model_info") or {}).items():
        if name.endswith(".context_length"):
            found["context"] = f"at most {value}; set OLLAMA_CONTEXT_LENGTH={LEAST_CONTEXT}"
    return found


def _of_answer(ask: Any, model: str) -> dict[str, str]:  # noqa: ANN401  the closure above
    """Whether an answer keeps a strict schema, and how fast it comes."""
    began = time.monotonic()
    answer = ask("POST", "chat/completions", {**_ASKED, "model": model, "response_format": _STRICT})
    seconds = time.monotonic() - began
    if answer is None:
        slow = f"no answer of {_WORDS} tokens within {SECONDS:g} seconds" if seconds > SECONDS / 2 else "refused"
        return {"json_schema": slow, "tokens a second": "not measured"}
    text = (answer["choices"][0]["message"].get("content") or "").strip()
    is_strict = text.startswith("{") and text.endswith("}") and '"floats"' in text
    timings, usage = answer.get("timings") or {}, answer.get("usage") or {}
    made = timings.get("predicted_per_second") or usage.get("completion_tokens", _WORDS) / max(seconds, 1e-3)
    rows = {"json_schema": "strict" if is_strict else "not kept: answers are mended", "tokens a second": f"{made:.1f}"}
    read = timings.get("prompt_per_second")
    return rows | ({"tokens read a second": f"{read:.1f}"} if read else {})


def _embeddings(answer: Mapping[str, Any] | None, embedding: str) -> str:
    if not embedding:
        return "not asked: SAG_EMBEDDING_MODEL names no model of a server"
    vectors = (answer or {}).get("data") or []
    return f"{len(vectors[0]['embedding'])} columns" if vectors else f"no vector of {embedding!r}"


def _hours(rows: Mapping[str, str], text_tokens: int) -> dict[str, str]:
    """Hours and tokens that an ingest of all documents takes, and whether the context is long enough."""
    told = {}
    context = rows.get("context", "")
    if context.isdigit() and int(context) < LEAST_CONTEXT:
        told["too short"] = f"context {context} is under {LEAST_CONTEXT}: --set batch.tokens=800, or start it longer"
    if not text_tokens:
        return told
    tokens = f"about {text_tokens * SENT:,.0f} tokens sent, {text_tokens * RECEIVED:,.0f} received"
    if (speed := _number(rows, "tokens a second")) is None:
        return told | {"an ingest of all": tokens}
    read = _number(rows, "tokens read a second")
    seconds = text_tokens * (RECEIVED / speed + (SENT / read if read else 0))
    return told | {"an ingest of all": f"{tokens}; {seconds / 3600:,.1f} hours in one slot"}


def _number(rows: Mapping[str, str], name: str) -> float | None:
    found = rows.get(name, "")
    return float(found) if found.replace(".", "", 1).isdigit() and float(found) > 0 else None
