"""Messages of the page in English and Chinese, and Markdown text."""

import re
from collections.abc import Iterator, Mapping, Sequence

from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.ranking import RankedCommunity

Wording = Mapping[str, tuple[str, str]]
"""Each message in English and in Chinese; `{…}` are fields of `format`."""
COMMON: Wording = {
    "lang": ("en", "zh-Hans"),
    "colon": (": ", "："),
    "comma": (", ", "、"),
    "stop": (".", "。"),
    "contents": ("Contents", "目录"),
    "filter": ("Find in the report", "在报告中查找"),
    "filter_found": ("{count} places; Enter goes to the next", "找到 {count} 处，按回车跳到下一处"),
    "show_all": ("Show all themes", "显示全部主题"),
    "light_dark": ("Light / dark", "浅色 / 深色"),
    "print_all": ("Print the sources", "打印来源"),
    "tap_again": ("Tap again to go there", "再点一次前往"),
    "to_content": ("Skip to the report", "跳到正文"),
    "events": ("Events", "事件"),
    "documents": ("Documents", "文档"),
    "communities": ("Themes", "主题"),
    "untyped": ("Names", "名称"),
    "keys": ("Keys", "属性"),
    "cited_by": ("Cited by", "引用于"),
    "approximate": ("approximate", "近似"),
    "source_count": ("Sources ({count})", "来源（{count} 处）"),
    "main_keys": ("Main keys", "主要属性"),
    "new": ("New", "新增"),
    "period": ("Period", "时间"),
    "undated": ("Without a date", "无日期"),
    "other": ("Other", "其他"),
    "event_count": ("{count} events", "{count} 个事件"),
    "document_count": ("{count} documents", "{count} 篇文档"),
    "community_count": ("{count} themes", "{count} 个主题"),
    "new_count": ("{count} new", "新增 {count} 个"),
    "not_listed": ("{count} events belong to no theme; see {file}.", "有 {count} 个事件不属于任何主题，见 {file}。"),
    "further": (
        "{count} smaller themes have no article here; see {file}.",
        "另有 {count} 个较小的主题没有单独成文，见 {file}。",
    ),
    "status_": ("", ""),
    "status_new": ("New", "新出现"),
    "status_grown": ("Grown", "增长"),
    "status_shrunk": ("Shrunk", "缩小"),
    "status_merged": ("Merged", "合并"),
    "status_split": ("Split off", "分出"),
    "status_changed": ("Other members", "成员变动"),
    "status_gone": ("Gone", "消失"),
}
"""Messages of the page's frame, and those that several sections use."""
_UNTYPED = "entity"
"""The type of names that nothing gave a type."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~^$])")
_LEADING = re.compile(r"^(\s*)(?:([-+=])|(\d+)([.)]))")


class Messages:
    """Messages in one language, read as attributes or items: those of a section together with the shared ones."""

    def __init__(self, language: str, wording: Wording | None = None) -> None:
        """Choose Chinese for `zh`, else English."""
        self._is_chinese = language.startswith("zh")
        self._texts = {name: pair[self._is_chinese] for name, pair in {**COMMON, **(wording or {})}.items()}

    def __getitem__(self, name: str) -> str:
        """The message of this name."""
        return self._texts[name]

    def __getattr__(self, name: str) -> str:
        """The message of this name."""
        if name.startswith("_") or name not in self._texts:
            raise AttributeError(f"there is no message {name!r} in COMMON or in the section's own wording")
        return self._texts[name]

    def key_type(self, kind: str, schema: KeySchema) -> str:
        """The reader's word for a key type: its label in the schema; else its name as words, with a capital letter.

        Examples:
            >>> from sag_retrieval.core.schema_file import read_schema
            >>> schema = read_schema({"types": ["person", {"name": "ship", "label": {"zh": "船舶"}}]})
            >>> [Messages(language).key_type("ship", schema) for language in ("zh", "en")]
            ['船舶', 'Ship']

        """
        known = schema.every.named(kind)
        if known is None and kind.casefold() == _UNTYPED:
            return self.untyped
        label = known.called("zh" if self._is_chinese else "en") if known else kind
        plain = " ".join(label.replace("_", " ").split())
        return plain[:1].upper() + plain[1:]

    def counted(self, pattern: str, count: int) -> str:
        """A pattern such as `{count} events` with its number, and in English in the singular for one."""
        text = pattern.format(count=f"{count:,}")
        if count != 1 or self._is_chinese:
            return text
        return f"{text.removesuffix('ies')}y" if text.endswith("ies") else text.removesuffix("s")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no link, no list, no table cell that ends early."""
    return _LEADING.sub(_escape_start, _MARKUP.sub(r"\\\1", text.replace("&", "&amp;"))).replace("\n", " ")


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[2] else f"{match[1]}{match[3]}\\{match[4]}"


def cited(statement: Statement) -> str:
    """A statement with its footnotes."""
    notes = "".join(f"[^{number}]" for number in dict.fromkeys(cite.source for cite in statement.cites))
    return escaped(statement.text) + notes


def dated(statement: Statement) -> str:
    """A statement with its date and its footnotes."""
    return f"{statement.date} {cited(statement)}" if statement.date else cited(statement)


def figures_of(community: RankedCommunity, messages: Messages) -> str:
    """Counts, period and status of a community in one line."""
    parts = [
        messages.counted(messages.event_count, community.size),
        messages.counted(messages.document_count, community.document_count),
        community.period,
        messages.new_count.format(count=f"{community.new_count:,}") if community.new_count else "",
        messages[f"status_{community.status}"],
    ]
    return " · ".join(part for part in parts if part)


def titled(community: RankedCommunity, messages: Messages) -> str:
    """The title of a community and its figures."""
    return f"**{escaped(community.title)}** {figures_of(community, messages)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table with escaped cells, and an empty line after it."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"
    yield ""
