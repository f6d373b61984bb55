"""Prompts as files, one for each step and language, and passages formatted for them; also used by the pipeline."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib import resources
from string import Template

from sag_retrieval.core.errors import SettingsError

_RULE = "\n---\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with `$name` placeholders (`$$` is a dollar). `version` is the hash of its file.

    `system` is the text above the first line `---` of the file, without placeholders, or empty.
    """

    name: str
    language: str
    system: str
    text: str
    version: str

    @property
    def places(self) -> frozenset[str]:
        """Names of the placeholders."""
        return frozenset(Template(self.text).get_identifiers())

    def fill(self, **values: object) -> str:
        """The text with every placeholder replaced; a `$` inside a value is unchanged.

        Raises:
            SettingsError: If a value is missing, or one is given for which there is no placeholder.
        """
        if values.keys() != self.places:
            raise SettingsError(
                f"prompt {self.name}.{self.language} has places {sorted(self.places)}, got {sorted(values)}"
            )
        return Template(self.text).substitute(values)


@lru_cache(maxsize=256)
def load_prompt(name: str, language: str, package: str = "sag_retrieval.prompts") -> Prompt:
    """The prompt `name` of a package, in Chinese for any language that starts with `zh`, else in English.

    Raises:
        SettingsError: If the package has no such prompt, or the prompt has a stray `$`.
    """
    code = "zh" if language.lower().startswith("zh") else "en"
    file = resources.files(package) / f"{name}.{code}.md"
    if not file.is_file():
        raise SettingsError(f"no prompt {name!r} in {code!r}; {package} has {list(prompt_names(package))}")
    source = file.read_text(encoding="utf-8")
    system, rule, text = source.partition(_RULE)
    if not rule:
        system, text = "", source
    if not Template(text).is_valid():
        raise SettingsError(f"prompt {name}.{code}.md of {package} has a stray `$`; write `$$` for a dollar")
    version = blake2b(source.encode("utf-8"), digest_size=8).hexdigest()
    return Prompt(name, code, system.strip(), text.strip(), version)


def prompt_names(package: str = "sag_retrieval.prompts") -> tuple[str, ...]:
    """Names of a package's prompts, in order; each exists in English and Chinese."""
    files = {file.name for file in resources.files(package).iterdir() if file.name.endswith(".md")}
    return tuple(sorted({name.removesuffix(".md").rpartition(".")[0] for name in files}))


_LINE_ENDS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


def numbered(texts: Sequence[str], titles: Sequence[str] = (), *, longest: int | None = None) -> str:
    r"""Lines `{"n": 1, "title": …, "text": …}` from 1 on; a text over `longest` characters is cut with `…`.

    Examples:
        >>> print(numbered(["An answer\nof two lines", "长长的一段话"], ["A", ""], longest=20))
        {"n": 1, "title": "A", "text": "An answer\nof two li…"}
        {"n": 2, "text": "长长的一段话"}
    """
    named = list(titles) or [""] * len(texts)
    lines = (
        {"n": n} | ({"title": title} if title else {}) | {"text": _cut(text, longest)}
        for n, (text, title) in enumerate(zip(texts, named, strict=True), start=1)
    )
    return as_lines(lines)


def as_lines(rows: Iterable[Mapping[str, object] | Sequence[object]]) -> str:
    """A line of JSON each; characters that end a line are escaped, so that a text cannot pose as instructions."""
    return "\n".join(json.dumps(row, ensure_ascii=False).translate(_LINE_ENDS) for row in rows)


def quoted(*texts: str) -> str:
    r"""Texts as JSON strings on one line: as safe as `as_lines`, with fewer tokens for marks.

    Examples:
        >>> print(quoted("Ann Lee", "a\nb"))
        "Ann Lee" "a\nb"
    """
    return " ".join(json.dumps(text, ensure_ascii=False) for text in texts).translate(_LINE_ENDS)


def shown_numbers(numbers: Iterable[int], shown: int) -> list[int]:
    """Valid passage numbers, each once, in the order given."""
    return list(dict.fromkeys(n for n in numbers if 1 <= n <= shown))


def _cut(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"
