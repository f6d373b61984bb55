"""The model and the vectors that all peers use: recorded entities and triples of MuSiQue passages, hashed words."""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.support.chat_server import ChatServer, Request, count_tokens, prompt_of, schema_of
from tests.support.scripted_answers import numbered_events, read_well

DIMENSION = 512
_WORD = re.compile(r"\w+")


def hashed(text: str) -> list[float]:
    """A vector from words and the three-letter pieces of words, each hashed to a place and a sign."""
    row = [0.0] * DIMENSION
    for word in _WORD.findall(text.lower()):
        padded = f"<{word}>"
        pieces = {padded: 1.0} | {padded[n : n + 3]: 0.3 for n in range(len(padded) - 2)}
        for piece, weight in pieces.items():
            digest = zlib.crc32(piece.encode())
            row[digest % DIMENSION] += weight if digest & 0x10000 else -weight
    length = sum(value * value for value in row) ** 0.5 or 1.0
    return [value / length for value in row]


class PeerServer(ChatServer):
    """Serves hashed vectors and counts their tokens."""

    def __init__(self, script: "RecordedModel") -> None:
        super().__init__(script)
        self.embedding_tokens = 0
        self.embedding_calls = 0

    def used(self) -> dict[str, int]:
        """What was used until now."""
        chat = self.input_tokens + self.output_tokens
        return {"calls": len(self.calls), "chat": chat, "embedding": self.embedding_tokens}

    async def _embed(self, http: web.Request) -> web.Response:
        request = await http.json()
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        used = sum(map(count_tokens, texts))
        self.embedding_tokens += used
        self.embedding_calls += 1
        data = [{"object": "embedding", "index": n, "embedding": hashed(text)} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": used, "total_tokens": used}
        return web.json_response({"object": "list", "data": data, "model": request["model"], "usage": usage})


@dataclass(frozen=True)
class Recorded:
    """What a model once found in a passage."""

    text: str
    entities: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]

    @property
    def names(self) -> list[str]:
        """Entities and ends of triples, once each."""
        ends = (end for head, _, tail in self.triples for end in (head, tail))
        return list(dict.fromkeys([*self.entities, *ends]))


@dataclass(frozen=True)
class RecordedModel:
    """The script: says of a passage what was recorded of it, in the form that the prompt asks for."""

    passages: Mapping[str, Recorded]

    def __call__(self, request: Request) -> Any:  # noqa: ANN401  text or JSON
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        if "<|COMPLETE|>" in prompt:
            return self._lightrag(prompt_of(request))
        if '"high_level_keywords"' in prompt:
            question = prompt_of(request).rsplit("User Query:", 1)[-1].split("---Output---")[0].strip()
            return {"high_level_keywords": [question], "low_level_keywords": self._names_in(question)}
        shape = json.dumps(request.get("response_format", {}))
        if '"named_entities"' in shape:
            return {"named_entities": self._names_in(prompt_of(request))[:15]}
        if '"FullExtractionResponse"' in shape:
            return self._zleap(prompt_of(request))
        if schema_of(request) == "ExtractedKeys":
            return self._keys(prompt_of(request))
        return read_well(request)

    def _lightrag(self, prompt: str) -> str:
        found = self._shown(prompt)
        lines = [f"entity<|#|>{name}<|#|>Other<|#|>{name}" for each in found for name in each.names]
        lines += [f"relation<|#|>{h}<|#|>{t}<|#|>{r}<|#|>{h} {r} {t}" for each in found for h, r, t in each.triples]
        return "\n".join([*lines, "<|COMPLETE|>"])

    def _zleap(self, prompt: str) -> dict[str, Any]:
        """One event of the whole chunk, with the entities recorded of its passage that stand in it."""
        items = json.loads(prompt)["data"]["items"]
        content = "".join(item["content"] for item in items)
        padded = _folded(content)
        names = [name for each in self._shown(content) for name in each.names if _folded(name) in padded]
        event = {
            "reason": "recorded", "title": content.split("\n")[0][:200], "summary": content[:200], "content": content,
            "references": [item["id"] for item in items], "is_valid": True, "children": [],
            "entities": [{"type": "concept", "name": name, "description": name} for name in dict.fromkeys(names)],
        }  # fmt: skip
        return {"type": "response", "data": {"items": [event]}}

    def _keys(self, prompt: str) -> dict[str, Any]:
        numbered = numbered_events(prompt)
        names = [[{"type": "entity", "value": n, "same_as": []} for n in self._names_in(text)] for _, text in numbered]
        return {"events": [{"event": n, "keys": own} for (n, _), own in zip(numbered, names, strict=True)]}

    def _shown(self, prompt: str) -> list[Recorded]:
        return [each for each in self.passages.values() if each.text[:120] in prompt]

    def _names_in(self, text: str) -> list[str]:
        """Recorded names that stand in a text, the longest where one lies in another."""
        padded = _folded(text)
        every = {_folded(name): name for each in self.passages.values() for name in each.names}
        found = [folded for folded in every if len(folded) > 4 and folded in padded]
        return [every[name] for name in found if not any(name != other and name in other for other in found)]


def _folded(text: str) -> str:
    """Its words in lower case, with a space on either side."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def recorded(rows: Any) -> dict[str, Recorded]:  # noqa: ANN401  rows of pandas
    """The recorded extraction of passages by their id; malformed triples are left out."""
    found = {}
    for row in rows:
        triples = (triple for triple in json.loads(row.triples) if isinstance(triple, list) and len(triple) == 3)
        sound = tuple(tuple(t) for t in triples if all(isinstance(end, str) and end for end in t))
        found[row.doc_id] = Recorded(row.text, tuple(name for name in row.entities if name), sound)
    return found
