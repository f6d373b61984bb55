"""What the input tokens of an extraction are spent on, by part of a prompt, and what a server's cache can keep of it.

Used by `python benchmarks/aliases.py --parts`. A prompt is taken apart by its own file: what the file says before its
first placeholder is the instruction, the lines under `Example:` the example, and a line of data is its text and marks.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from sag_retrieval.prompts import load_prompt
from tests.support.chat_server import Call, Request, count_tokens, first_prompt_of, schema_of
from tests.support.scripted_answers import strings_of

STEPS = {"ExtractedEvents": "events", "ExtractedKeys": "keys", "SamePairs": "pairs", "ExtractedSummary": "summaries"}
_PLACE = re.compile(r"\$(\w+)")
_EXAMPLE = re.compile(r"\n(?:Example:|示例：)\n.*?\n\n", re.DOTALL)
_TITLE = re.compile("(?:title|summary) ")


def parts_of(request: Request) -> Counter[str]:
    """Tokens of a request by part."""
    step, prompt = STEPS[schema_of(request)], first_prompt_of(request)
    fixed, values = _taken_apart(step, prompt)
    example = "".join(_EXAMPLE.findall(fixed))
    found = Counter(
        schema=count_tokens(json.dumps(request["response_format"]["json_schema"]["schema"], ensure_ascii=False)),
        system=sum(count_tokens(one["content"]) for one in request["messages"] if one["role"] == "system"),
        example=count_tokens(example),
    )
    found["instruction"] = count_tokens(fixed) - found["example"]
    for name, value in values.items():
        if name in ("types", "known"):
            found[name] = count_tokens(value)
        else:
            found += _of_data(value)
    return found


def _taken_apart(step: str, prompt: str) -> tuple[str, Mapping[str, str]]:
    """What a prompt's file says, and the values of its placeholders."""
    for language in ("en", "zh"):
        pieces = _PLACE.split(load_prompt(step, language, "sag_pipeline.llm.prompts").text)
        if not prompt.startswith(pieces[0]):
            continue
        values, at = {}, len(pieces[0])
        for name, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            end = prompt.index(piece, at) if piece else len(prompt)
            values[name], at = prompt[at:end], end + len(piece)
        return "".join(pieces[::2]), values
    raise ValueError(f"no prompt file begins as {prompt[:80]!r} does")


def _of_data(value: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in value.split("\n"):
        whole = count_tokens(line) + 1
        if _TITLE.match(line):
            found["titles and summaries"] += whole
            continue
        texts = sum(count_tokens(one) for one in strings_of(line))
        found["texts"] += texts
        found["marks"] += whole - texts
    return found


def table_of(calls: Iterable[Call], corpus: int) -> list[dict[str, Any]]:
    """By step: calls, tokens by part for one of the corpus, and the share of them that the call before begins with.

    Servers keep what calls begin with: the schema, the system message, and the prompt as far as it stays the same.
    """
    parts: dict[str, Counter[str]] = {}
    before: dict[tuple[str, str], str] = {}
    for call in sorted(calls, key=lambda one: one.started):
        step = STEPS[schema_of(call.request)]
        count = parts.setdefault(step, Counter())
        count += parts_of(call.request)
        count["calls"] += 1
        count["input"] += call.input_tokens
        sent = json.dumps(call.request["response_format"], ensure_ascii=False) + "\n"
        sent += "\n".join(one["content"] for one in call.request["messages"])
        kind = step, first_prompt_of(call.request)[:40]
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before.get(kind, ""), sent, strict=False))
        count["kept"] += count_tokens(sent[: sum(1 for _ in same)])
        before[kind] = sent
    found = []
    for step, count in parts.items():
        calls_made, kept, sent_tokens = (count.pop(name) for name in ("calls", "kept", "input"))
        row = {"step": step, "calls": calls_made, "input": round(sent_tokens / corpus, 3)}
        row |= {name: round(tokens / corpus, 3) for name, tokens in sorted(count.items())}
        found.append(row | {"cached prefix, %": round(100 * kept / sent_tokens)})
    return found
