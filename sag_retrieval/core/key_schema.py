"""Key types: what a corpus's events can be found by, their kinds and units, and how models and filters name them."""

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from pathlib import PurePath
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sag_retrieval.core.errors import nearest, shown
from sag_retrieval.core.records import TITLE
from sag_retrieval.language.words import fold, normal_form

ValueKind: TypeAlias = Literal["text", "number", "boolean", "date"]
_LONGEST: Final = 60
_LONGEST_SAID: Final = 500
_MOST: Final = 200
"""Types of a schema, and allowed values or aliases of a type, at most."""
_ANY: Final = ""
"""The language of a text that is given for every one."""
_OWN: Final = frozenset({TITLE, "heading", "is_forecast"})
"""Types of keys that every event may carry, whatever the schema: they have a meaning of their own."""


def _name(given: str) -> str:
    name = " ".join(normal_form("NFKC", given).split()).lower()
    if not name or len(name) > _LONGEST or not name.isprintable() or any(mark in name for mark in '"\\|,:;=.'):
        raise ValueError(
            f"{shown(given)} is no name: up to {_LONGEST} characters, letters, digits, spaces and - _ / ()"
        )
    return name


def _own_name(given: str) -> str:
    name = _name(given)
    if name in _OWN:
        raise ValueError(f"{name!r} is a type of every schema with a meaning of its own; choose another name")
    return name


def _texts(given: object) -> object:
    if isinstance(given, str):
        return {_ANY: given}
    return given


def _checked_texts(given: dict[str, str]) -> dict[str, str]:
    for language, text in given.items():
        if not text.strip() or len(text) > _LONGEST_SAID or "\n" in text:
            raise ValueError(f"{shown(text)} is no text of one line and up to {_LONGEST_SAID} characters")
        if language not in (_ANY, language[:3].lower()):
            raise ValueError(f"{shown(language)} is no language; write its ISO code, such as en or zh")
    return dict(sorted(given.items()))


Wordings = Annotated[dict[str, str], BeforeValidator(_texts), AfterValidator(_checked_texts)]
"""What is said in each language, by its ISO code."""


class KeyType(BaseModel):
    """One type of keys: what it is called, what its values are, and what belongs to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_own_name)]
    """As it is stored, filtered and read in SQL."""
    kind: ValueKind = "text"
    """What its values are; only text can be searched by meaning."""
    label: Wordings = {}
    """Its name for readers, one text or one per language."""
    description: Wordings = {}
    """What belongs to it, for models and readers."""
    aliases: Annotated[tuple[Annotated[str, AfterValidator(_name)], ...], Field(max_length=_MOST)] = ()
    """Further names, in any language."""
    unit: Annotated[str, Field(min_length=1, max_length=30)] | None = None
    """Of numbers: other units are converted to it; an amount in another currency keeps its own."""
    values: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=120)], ...], Field(max_length=_MOST)] = ()
    """Of text: the only ones allowed; none: any."""
    open: bool = False
    """Of yes/no values: each names what it is about, as in `is_listed=true`."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "KeyType":
        for field, kind in (("unit", "number"), ("values", "text"), ("open", "boolean")):
            if getattr(self, field) and self.kind != kind:
                raise ValueError(f"{field} is for types of kind {kind}; {self.name!r} is of kind {self.kind}")
        return self

    def __hash__(self) -> int:
        return hash(self.name)

    def called(self, language: str) -> str:
        """Its name for readers of a language."""
        return self.label.get(language) or self.label.get(_ANY) or self.name

    def said(self, language: str) -> str:
        """Its description in a language, or in another one if there is none; empty without any."""
        return self.description.get(language) or next(iter(self.description.values()), "")

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, each once: as stored, labels, aliases."""
        return tuple(dict.fromkeys((self.name, *self.label.values(), *self.aliases)))


class KeyTypes:
    """The key types of a document's source, found by every name they have."""

    def __init__(self, types: tuple[KeyType, ...]) -> None:
        """Take them in their order.

        Raises:
            ValueError: If two share a name.
        """
        self.types = types
        self._by_name: dict[str, KeyType] = {}
        for each in types:
            for name in each.names:
                other = self._by_name.setdefault(fold(name), each)
                if other is not each:
                    raise ValueError(f"{name!r} names both {other.name!r} and {each.name!r}; give it to one of them")

    def __iter__(self) -> Iterator[KeyType]:
        return iter(self.types)

    def __contains__(self, name: object) -> bool:
        return any(each.name == name for each in self.types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyTypes) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def named(self, written: str) -> KeyType | None:
        """The type that a name in any language or case means; None if none has it.

        Examples:
            >>> from sag_retrieval.core.schema_file import default_schema
            >>> default_schema().default.named("公司").name
            'organisation'
        """
        return self._by_name.get(fold(written))

    def enum(self, language: str) -> tuple[str, ...]:
        """What a model may answer as a type: their names in the language of its prompt."""
        return tuple(each.called(language) for each in self.types)

    def line(self, language: str) -> str:
        """What prompts say of types: kind, unit, values, description. Names alone stand in the schema of the answer.

        Examples:
            >>> from sag_retrieval.core.schema_file import read_schema
            >>> revenue = {"name": "revenue", "kind": "number", "unit": "CNY", "label": {"zh": "营业收入"}}
            >>> read_schema({"types": ["person", revenue]}).default.line("en")
            'revenue (number in CNY)'
        """
        is_chinese = language.startswith("zh")
        said = [(each, _in_chinese(each) if is_chinese else _in_english(each, language)) for each in self.types]
        opened, closed, gap = "（）；" if is_chinese else (" (", ")", "; ")
        shown = [(each.called(language), inside) for each, inside in said]
        return gap.join(f"{name}{opened}{inside}{closed}" for name, inside in shown if inside not in ("", name))

    @cached_property
    def digest(self) -> str:
        """Hash of everything that keys depend on; the order of types counts, models see it."""
        said = json.dumps([each.model_dump() for each in self.types], ensure_ascii=False, sort_keys=True)
        return blake2b(said.encode(), digest_size=8).hexdigest()


def _in_english(each: KeyType, language: str) -> str:
    kinds = {"text": "", "number": "number", "boolean": "true or false", "date": "date"}
    said = [kinds[each.kind] + (f" in {each.unit}" if each.unit else ""), each.said(language)]
    said += [f"one of {', '.join(each.values)}"] if each.values else []
    return ", ".join(filter(None, said))


def _in_chinese(each: KeyType) -> str:
    kinds = {"text": "", "number": "数值", "boolean": "true 或 false", "date": "日期"}
    said = [kinds[each.kind], f"单位 {each.unit}" if each.unit else "", each.said("zh")]
    said += [f"取值为{'、'.join(each.values)}"] if each.values else []
    return "，".join(filter(None, said))


class KeySchema(BaseModel):
    """The key types of a corpus, and of single sources that have their own.

    Examples:
        >>> from sag_retrieval import KeySchema, KeyType
        >>> fine = KeyType(name="fine", kind="number", unit="CNY", label={"zh": "罚款"})
        >>> schema = KeySchema(types=(fine,), sources={"contracts": (KeyType(name="signed_on", kind="date"),)})
        >>> [each.name for each in schema.of_source("contracts")], schema.default.named("罚款").name
        (['signed_on'], 'fine')
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    types: Annotated[tuple[KeyType, ...], Field(min_length=1, max_length=_MOST)]
    """Of every source without types of its own."""
    sources: Mapping[str, Annotated[tuple[KeyType, ...], Field(min_length=1, max_length=_MOST)]] = {}
    """By source as given to the ingest, by the name of its folder or file, or by a pattern such as `*/contracts`; the
    first that fits counts."""

    @model_validator(mode="after")
    def _is_unambiguous(self) -> "KeySchema":
        for types in (self.types, *self.sources.values()):
            KeyTypes(types)
        return self

    @cached_property
    def default(self) -> KeyTypes:
        """The types of sources without their own."""
        return KeyTypes(self.types)

    @cached_property
    def _own(self) -> Mapping[str, KeyTypes]:
        return {pattern: KeyTypes(types) for pattern, types in self.sources.items()}

    def of_source(self, source: str) -> KeyTypes:
        """The types of the documents of a source."""
        name = PurePath(source).name
        return next(
            (
                types
                for pattern, types in self._own.items()
                if source == pattern or fnmatchcase(source, pattern) or fnmatchcase(name, pattern.rstrip("/"))
            ),
            self.default,
        )

    def digest_of(self, source: str) -> str:
        """What the keys of a source's documents depend on."""
        return self.of_source(source).digest

    @cached_property
    def every(self) -> KeyTypes:
        """The types of all sources; where two define one name, the first."""
        found = {each.name: each for each in self.types}
        taken = {fold(name) for each in self.types for name in each.names}
        for each in (each for types in self.sources.values() for each in types):
            if each.name not in found:
                free = {name for name in each.names if fold(name) not in taken}
                found[each.name] = each.model_copy(
                    update={
                        "aliases": tuple(name for name in each.aliases if name in free),
                        "label": {tongue: name for tongue, name in each.label.items() if name in free},
                    }
                )
                taken |= {fold(name) for name in found[each.name].names}
        return KeyTypes(tuple(found.values()))


def unknown_type(written: str, types: KeyTypes) -> str:
    """The end of a message about a type that the schema does not have: the known ones, and the nearest."""
    known = [each.name for each in types]
    return f"type {shown(written)} is none of {', '.join(known)}{nearest(written, known)}"
