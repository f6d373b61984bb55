"""Parse the key values that a model writes into dates, numbers with units, flags or text."""

import re
from collections.abc import Iterator

from sag_pipeline.steps.dates import dates
from sag_pipeline.steps.keys import make_key
from sag_pipeline.steps.quantities import quantities
from sag_retrieval.core.records import Key
from sag_retrieval.text.words import fold

DEFAULT_TYPES = (
    "person", "organisation", "place", "date", "product", "work", "law", "occasion",
    "topic", "action", "money", "percentage", "quantity", "flag",
)  # fmt: skip
"""Default types of keys; the last four have numbers and truth values."""

_TYPE_NAMES = {
    name: meant
    for meant, names in {
        "person": "人物 人",
        "organisation": "organization company 组织 机构 公司",
        "place": "location 地点 地区",
        "date": "time year 日期 时间",
        "product": "产品",
        "work": "作品",
        "law": "法律 法规",
        "occasion": "event 事件 活动",
        "topic": "concept tag term 主题 概念 标签 术语",
        "action": "行为 动作",
        "money": "金额",
        "percentage": "percent 百分比",
        "quantity": "number amount 数量 数字",
        "flag": "boolean 是否",
    }.items()
    for name in names.split()
}
_NUMERIC = frozenset({"money", "percentage", "quantity"})
_PLAIN = re.compile(r"([-+]?\d[\d,，]*(?:\.\d+)?)\s*(\S.{0,20})?")
_NO_COMMAS = str.maketrans("", "", ",，")
_ISO = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
_FLAGS = {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}


def key_type_of(written: str, types: tuple[str, ...]) -> str:
    """The type meant by a written name: one of `types`, by that or another usual name, else `topic`, else the last.

    Examples:
        >>> key_type_of("公司", DEFAULT_TYPES), key_type_of("vibe", DEFAULT_TYPES)
        ('organisation', 'topic')

    """
    name = fold(written)
    by_name = {fold(key_type): key_type.strip().lower() for key_type in reversed(types)}
    for candidate in (name, _TYPE_NAMES.get(name, ""), "topic"):
        if candidate in by_name:
            return by_name[candidate]
    return by_name[fold(types[-1])]


def typed_keys(key_type: str, value: str | float | bool) -> Iterator[Key]:  # noqa: FBT001  a value
    """The keys of one value: for a full date also its month and its year, so that each finds the event.

    No key for an empty value. A number that cannot be parsed is kept as text.

    Source:
        docs/algorithm.md §extraction.28.

    Examples:
        >>> [key.value for key in typed_keys("date", "March 5, 2019")]
        ['2019-03-05', '2019-03', '2019']

    """
    if isinstance(value, str):
        yield from _keys_of_text(key_type, value.strip())
    else:
        yield from filter(None, [make_key(key_type, value)])


def _keys_of_text(key_type: str, text: str) -> Iterator[Key]:
    if key_type == "flag" and fold(text) in _FLAGS:
        made = [make_key(key_type, _FLAGS[fold(text)])]
    elif key_type == "date":
        made = [make_key(key_type, found) for found in _dates(text)]
    elif key_type in _NUMERIC:
        made = [_number(key_type, text)]
    else:
        made = [make_key(key_type, text)]
    yield from (key for key in made if key is not None)


def _dates(text: str) -> list[str]:
    found = [str(mention.value) for mention in dates(text)]
    if not found and _ISO.fullmatch(text):
        found = [text[:length] for length in (10, 7, 4) if len(text) >= length]
    return found or [text]


def _number(key_type: str, text: str) -> Key | None:
    for mention in quantities(text):
        if key_type in (mention.key_type, "quantity"):
            return make_key(mention.key_type, mention.value, mention.unit)
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return make_key(key_type, text)
    unit = "%" if key_type == "percentage" else plain[2]
    return make_key(key_type, float(plain[1].translate(_NO_COMMAS)), unit)
