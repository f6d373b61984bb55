"""Messages of the page, from `en.toml` and `zh.toml`, and text that Markdown shows as it is."""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

LANGUAGES: Final = ("en", "zh")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>#|~^$])")
_LEADING: Final = re.compile(r"^(\s*)(?:([-+=])|(\d+)([.)]))")


@lru_cache
def messages_in(language: str) -> Mapping[str, str]:
    """The messages of a language by name."""
    text = resources.files("sag_retrieval.reports").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


class Messages:
    """Messages in one language, read as attributes or items.

    Examples:
        >>> Messages("zh").contents, Messages("en")["contents"]
        ('目录', 'Contents')

    """

    def __init__(self, language: str) -> None:
        """Choose Chinese for `zh`, else English."""
        self._is_chinese = language.startswith("zh")
        self._texts = messages_in("zh" if self._is_chinese else "en")

    def __getitem__(self, name: str) -> str:
        """The message of this name."""
        return self._texts[name]

    def __getattr__(self, name: str) -> str:
        """The message of this name."""
        if name.startswith("_") or name not in self._texts:
            raise AttributeError(f"there is no message {name!r} in en.toml and zh.toml")
        return self[name]

    def counted(self, name: str, count: int) -> str:
        """A message such as `{count} statements` with its number, and in English in the singular for one.

        Examples:
            >>> Messages("en").counted("topic_count", 1), Messages("en").counted("topic_count", 1200)
            ('1 topic', '1,200 topics')

        """
        text = self[name].format(count=f"{count:,}")
        if count != 1 or self._is_chinese:
            return text
        return f"{text.removesuffix('ies')}y" if text.endswith("ies") else text.removesuffix("s")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no link, no list, no table cell that ends early."""
    return _LEADING.sub(_escape_start, _MARKUP.sub(r"\\\1", text.replace("&", "&amp;"))).replace("\n", " ")


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[2] else f"{match[1]}{match[3]}\\{match[4]}"
