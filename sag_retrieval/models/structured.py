"""Structured answers of a language model: how the JSON schema is sent, and the value parsed from a reply, repaired."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from sag_retrieval.language.words import json_without_controls
from sag_retrieval.models.protocols import AnswerT
from sag_retrieval.models.rate_limits import StructuredMode

_STRUCTURE = str.maketrans("｛｝［］：，", "{}[]:,")
_CLOSERS = {'"': '"', "'": "'", "“": "”", "＂": "＂", "”": "”"}
_AFTER_STRING = frozenset(",:}]，：｝］")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"'}
_WORDS = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class RepairedJson:
    """A value parsed from a model's text, and whether its end was missing."""

    value: object
    is_truncated: bool = False


def repair_json(text: str) -> RepairedJson:
    """The JSON object or list in a text; the longest if there are several.

    A missing end is closed after the last complete item and reported. Strings are not changed.
    Source: docs/algorithm.md §extraction.22.

    Examples:
        >>> repair_json('Here you are: ｛“a”：[1, 2,],}').value
        {'a': [1, 2]}
    """
    found, covered = list[tuple[RepairedJson, int]](), 0
    for start in _starts(text):
        if start >= covered and (value := _read(text, start)) is not None:  # no bracket inside a whole value is a start
            found.append(value[:2])
            covered = max(covered, value[2])
    if not found:
        raise ValueError(f"no JSON object in {text[:80]!r}")
    return max(found, key=lambda each: each[1])[0]


def _starts(text: str) -> list[int]:
    """Where a value may begin: first brackets, after a fence, on a last line; few, so parsing is linear."""
    first = [i for i in (text.find(mark) for mark in "{｛[［") if i >= 0]
    last_line = [i for i in (text.rfind(mark) for mark in ("\n{", "\n｛", "\n[")) if i >= 0]
    fenced = text.find("```json")
    after_fence = [i for i in (text.find(mark, fenced) for mark in "{［[") if i >= 0] if fenced >= 0 else []
    return sorted({*first, *(i + 1 for i in last_line), *after_fence})


def _read(text: str, start: int) -> tuple[RepairedJson, int, int] | None:
    """The value from `start`, its length as strict JSON, and where it ends (0: its end is missing)."""
    tidy, end = _tidy(text, start)
    is_closed = end > 0
    try:
        value = from_json(tidy, allow_partial=not is_closed)
    except ValueError:
        return None
    return (RepairedJson(value, is_truncated=not is_closed), len(tidy), end) if value else None


def _tidy(text: str, start: int) -> tuple[str, int]:
    """The value from `start` as strict JSON, and where it ends (0: its closing bracket is missing)."""
    out: list[str] = []
    depth = 0
    for piece, end in _pieces(text, start):
        if piece in "}]":
            _drop_comma(out)
        depth += (piece in "{[") - (piece in "}]")
        out.append(piece)
        if depth == 0:
            return "".join(out), end
    _drop_comma(out)
    return "".join(out), 0


def _drop_comma(out: list[str]) -> None:
    while out and (out[-1] == "," or out[-1].isspace()):
        out.pop()


def _pieces(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Brackets, separators, strings and bare words, each converted to strict JSON, and where each ends."""
    at = start
    while at < len(text):
        character = text[at]
        if character in _CLOSERS:
            piece, at = _string(text, at)
            yield piece, at
        elif character.isalpha():
            end = at
            while end < len(text) and text[end].isalnum():
                end += 1
            yield _WORDS.get(text[at:end], text[at:end]), end
            at = end
        else:
            at += 1
            yield character.translate(_STRUCTURE), at


def _string(text: str, at: int) -> tuple[str, int]:
    """The quoted string that opens at `at` (unclosed if cut off), and the position after it."""
    closer = _CLOSERS[text[at]]
    out = ['"']
    at += 1
    while at < len(text):
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            out.append(text[at : at + 2] if text[at + 1] in '"\\/bfnrtu' else "\\\\" + text[at + 1])
            at += 2
        elif character == closer and _ends_string(text, at + 1):
            return "".join(out) + '"', at + 1
        else:
            out.append(_ESCAPES.get(character, character))
            at += 1
    return "".join(out), at


def _ends_string(text: str, after: int) -> bool:
    """Whether a quote closes its string: a separator, bracket or the end of the text follows it."""
    while after < len(text) and text[after].isspace():
        after += 1
    return after == len(text) or text[after] in _AFTER_STRING


_NEXT: dict[str, StructuredMode] = {"json_schema": "json_object", "json_object": "text"}
_TOO_LONG = ("context_length", "context length", "context window", "too long", "maximum context")
_LEFT_OUT = "stream_options stream reasoning_effort temperature seed max_tokens max_completion_tokens".split()
"""Parameters that a server may refuse; a name that another begins with comes after it."""
_NOT_SENT = ("default", "title")
_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"


class WrongShape(ValueError):  # noqa: N818  always caught
    """A text does not match the requested schema; the message names the fault so that the model can correct it."""


@lru_cache(maxsize=256)
def strict_schema(answer: type[BaseModel]) -> dict[str, Any] | None:
    """The JSON schema for strict mode; None if that cannot express it (docs/algorithm.md §extraction.21)."""
    schema = _inlined(answer.model_json_schema())
    if not _is_closed(schema):
        return None
    tight: dict[str, Any] = _rewritten(schema, _tighten)
    return tight


@lru_cache(maxsize=256)
def schema_instruction(answer: type[BaseModel]) -> str:
    """The instruction that carries the schema if the server does not support schemas."""
    open_schema = _rewritten(_inlined(answer.model_json_schema()), _open)
    schema = json.dumps(open_schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object and no other text. Its JSON schema: {schema}"


def read_answer(text: str, answer: type[AnswerT]) -> tuple[AnswerT, bool]:
    """The answer parsed from a text, and whether the text was truncated.

    Fences, prose, thoughts, stray commas and Chinese punctuation are skipped; unknown fields are dropped;
    a bare list is read as the only list of the answer. Of a truncated text the complete items are kept.
    """
    text = json_without_controls(_without_thoughts(text))
    try:
        return answer.model_validate_json(text), False
    except ValidationError:
        pass
    try:
        repaired = repair_json(text)
        return _validate(_unwrap(repaired.value, answer), answer, repaired.is_truncated), repaired.is_truncated
    except ValidationError as error:
        raise WrongShape(describe(error)) from None
    except (ValueError, LookupError, TypeError) as error:
        raise WrongShape(str(error)) from None


def describe(error: ValidationError) -> str:
    """The first three faults of an answer on one line, with their locations."""
    faults = [f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in error.errors()]
    return "; ".join(faults[:3])


def _without_thoughts(text: str) -> str:
    """The text without `<think>…</think>` blocks; a block without an end stays."""
    pieces: list[str] = []
    start = 0
    while (opened := text.find(_THOUGHT, start)) >= 0:
        closed = text.find(_THOUGHT_ENDS, opened)
        if closed < 0:
            break
        pieces.append(text[start:opened])
        start = closed + len(_THOUGHT_ENDS)
    return "".join([*pieces, text[start:]])


def _validate(value: object, answer: type[AnswerT], is_truncated: bool) -> AnswerT:  # noqa: FBT001  internal
    try:
        return answer.model_validate(value)
    except ValidationError as error:
        faulty = {}
        for fault in reversed(error.errors()):
            is_extra = fault["type"] == "extra_forbidden"
            if is_extra or (is_truncated and fault["type"] == "missing"):
                faulty[fault["loc"] if is_extra else fault["loc"][:-1]] = True
        for place in sorted(faulty, key=len, reverse=True):  # stable: later items of a list go first
            _remove(value, place)
        return answer.model_validate(value)


def _remove(value: Any, place: Any) -> None:  # noqa: ANN401  any JSON
    for step in place[:-1]:
        value = value[step]
    if place and (isinstance(value, list) or place[-1] in value):
        del value[place[-1]]


def _unwrap(value: Any, answer: type[BaseModel]) -> object:  # noqa: ANN401  any JSON
    """The value without a wrapper that models often add, or with a field they often omit."""
    fields = answer.model_fields
    if isinstance(value, list) and len(fields) == 1:
        return {next(iter(fields)): value}
    if isinstance(value, dict) and len(value) == 1 and not fields.keys() & value.keys():
        (inner,) = value.values()
        if isinstance(inner, dict):
            return inner
    return value


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions inlined, which is shorter; recursive definitions stay."""
    definitions = schema.pop("$defs", {})
    if any(_refers(definitions[name], definitions, {name}) for name in definitions):
        return schema | {"$defs": definitions}
    inlined: dict[str, Any] = _put_in(schema, definitions)
    return inlined


def _refers(schema: Any, definitions: dict[str, Any], above: set[str]) -> bool:  # noqa: ANN401  any JSON
    if isinstance(schema, list):
        return any(_refers(item, definitions, above) for item in schema)
    if not isinstance(schema, dict):
        return False
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        return name in above or _refers(definitions[name], definitions, above | {name})
    return any(_refers(item, definitions, above) for item in schema.values())


def _put_in(schema: Any, definitions: dict[str, Any]) -> Any:  # noqa: ANN401  any JSON
    def inlined(part: dict[str, Any]) -> dict[str, Any]:
        name = str(part.get("$ref", "")).removeprefix("#/$defs/")
        found: dict[str, Any] = _put_in(definitions[name], definitions) if name in definitions else part
        return found

    return _rewritten(schema, inlined)


def _rewritten(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:  # noqa: ANN401  any JSON
    """The same JSON with each object in it changed, the inner ones first."""
    if isinstance(schema, list):
        return [_rewritten(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return change({name: _rewritten(item, change) for name, item in schema.items()})


def _is_closed(schema: Any) -> bool:  # noqa: ANN401  any JSON
    if isinstance(schema, dict):
        is_free = schema.get("type") == "object" and "properties" not in schema
        return not is_free and all(map(_is_closed, schema.values()))
    return not isinstance(schema, list) or all(map(_is_closed, schema))


def _tighten(schema: dict[str, Any]) -> dict[str, Any]:
    tight = _trim(schema)
    if "properties" in tight and tight.get("type") == "object":
        tight |= {"additionalProperties": False, "required": list(tight["properties"])}
    return tight


def _open(schema: dict[str, Any]) -> dict[str, Any]:
    """One object of a schema as a prompt has it."""
    return {name: item for name, item in _trim(schema).items() if name != "additionalProperties"}


def _trim(schema: dict[str, Any]) -> dict[str, Any]:
    """Without annotations and a model's docstring; a *field* with such a name is a mapping and stays."""
    left_out = {*_NOT_SENT, "description"} if "properties" in schema else _NOT_SENT
    return {name: item for name, item in schema.items() if name not in left_out or isinstance(item, dict)}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form of request; the default suits most servers, and each refusal leads to the next form."""

    mode: StructuredMode = "json_schema"
    length_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    left_out: frozenset[str] = frozenset()

    def body(
        self,
        messages: list[dict[str, str]],
        answer: type[BaseModel],
        parameters: dict[str, Any],
        max_tokens: int | None,
    ) -> dict[str, Any]:
        """The body of a chat request, without the model's name; it says the schema where the mode cannot."""
        sent = {name: value for name, value in parameters.items() if name not in self.left_out}
        if max_tokens is not None and self.length_name not in self.left_out:
            sent[self.length_name] = max_tokens
        schema = strict_schema(answer) if self.mode == "json_schema" else None
        if schema is not None:
            shape = {"name": answer.__name__, "schema": schema, "strict": True}
            sent["response_format"] = {"type": "json_schema", "json_schema": shape}
            return sent | {"messages": messages}
        if self.mode != "text":
            sent["response_format"] = {"type": "json_object"}
        return sent | {"messages": [{"role": "system", "content": schema_instruction(answer)}, *messages]}

    def after_refusal(self, fault: str, body: dict[str, Any]) -> "Dialect | None":
        """The next form to try after a refusal, from the message and the refused body; None if there is none."""
        words = fault.lower()
        if any(sign in words for sign in _TOO_LONG):
            return None
        if "max_completion_tokens" in words and "max_tokens" in body:
            return replace(self, length_name="max_completion_tokens")
        for name in _LEFT_OUT:
            if name in body and name in words:
                also = {"stream_options"} if name == "stream" else set()
                return replace(self, left_out=self.left_out | {name} | also)
        if self.mode in _NEXT:
            return replace(self, mode=_NEXT[self.mode])
        return None
