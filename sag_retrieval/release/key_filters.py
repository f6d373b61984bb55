"""Conditions on keys in the words of the release's schema: any name of a type, amounts with scale and unit."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Self

from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.core.schema_file import default_schema, read_schema
from sag_retrieval.language.amounts import WrittenAmount, in_unit, read_amount
from sag_retrieval.language.units import unit_name

_KEY: Final = "key."
_COMPARED: Final = frozenset({"eq", "ne", "gt", "gte", "lt", "lte"})


class InUnit(float):
    """A number that is compared with numbers of its unit alone; those without a unit count as well."""

    unit: str

    def __new__(cls, number: float, unit: str) -> Self:
        """Bind a number to a unit."""
        found = super().__new__(cls, number)
        found.unit = unit
        return found

    def __repr__(self) -> str:
        return f"{float(self)!r} {self.unit}"


def schema_of_release(described: Mapping[str, object]) -> KeySchema:
    """The schema that a manifest describes; the default where it describes none."""
    return read_schema(described) if described else default_schema()


def in_words_of_schema(
    where: Mapping[str, object] | None, schema: KeySchema, stored: Callable[[], Collection[str]]
) -> Mapping[str, object] | None:
    """A `where` with the stored name of each key type, and with numbers in place of amounts such as `10 亿元`.

    A number is compared in the unit of its type: of revenues in CNY one in USD is neither more nor less.

    Args:
        where: Conditions by field.
        schema: The schema of the release.
        stored: Gives the types that keys of the release have; asked only where a condition is about keys.

    Examples:
        >>> schema = read_schema({"types": [{"name": "revenue", "kind": "number", "unit": "CNY", "aliases": ["营收"]}]})
        >>> in_words_of_schema({"key.营收__gt": "10 亿"}, schema, lambda: ["revenue"])
        {'key.revenue__gt': 1000000000.0 CNY}

    """
    if not isinstance(where, Mapping):
        return where  # None, or what is refused later
    found: dict[str, object] = {}
    for name, value in where.items():
        if not isinstance(name, str) or not name.startswith(_KEY):
            found[name] = value
            continue
        written, mark, operator = name.removeprefix(_KEY).rpartition("__")
        written, operator = (written, operator) if mark else (operator, "eq")
        key_type = schema.every.named(written)
        is_other = key_type is not None and written not in stored()
        own = f"{_KEY}{key_type.name}{mark}{operator if mark else ''}" if key_type and is_other else name
        found[own] = _in_unit(key_type, value) if key_type and operator in _COMPARED else value
    return found


def _in_unit(key_type: KeyType, value: object) -> object:
    """A number or a written amount in the unit of a type; anything else as it is."""
    if key_type.kind != "number" or isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    amount = read_amount(value) if isinstance(value, str) else WrittenAmount(value, value)
    if amount is None or amount.low != amount.high:
        return value
    if key_type.unit is not None:
        amount = in_unit(amount, key_type.unit)
        return value if amount is None else InUnit(amount.low, amount.unit or unit_name(key_type.unit))
    return InUnit(amount.low, amount.unit) if amount.unit else amount.low if isinstance(value, str) else value
