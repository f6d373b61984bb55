"""Names of scales, currencies and units in every language, and numbers converted from one unit to another."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from sag_retrieval.language.data import units_of_all

SCALES: Final[Mapping[str, float]] = units_of_all("scales")
"""What a word multiplies a number by."""
CURRENCIES: Final[Mapping[str, str]] = units_of_all("currencies")
"""Code of each currency by its names and signs."""
UNITS: Final[Mapping[str, str]] = units_of_all("units")
"""One name of each unit by all its names."""
_CODES: Final = frozenset(CURRENCIES.values()) | frozenset(
    "AED ARS AUD BRL CAD CHF CLP CZK DKK HUF IDR ILS INR KRW MXN MYR NOK NZD PHP PLN RON RUB SAR SEK SGD THB TRY TWD "
    "UAH VND ZAR".split()
)
_PLAIN: Final = re.compile(r"[A-Za-zµΩ_%]{1,20}[²³]?(?:/[A-Za-zµ]{1,20}[²³]?)?")
"""What is converted: names, never an expression that would have to be computed."""
_PLURALS: Final = ("s", "es")


_NAMES: Final = frozenset(UNITS.values())


def unit_name(written: str) -> str:
    """The one name of a unit or currency; one that is not known stays as it is.

    Examples:
        >>> [unit_name(unit) for unit in ("公里", "Miles", "元", "chf", "sailors")]
        ['km', 'mile', 'CNY', 'CHF', 'sailors']
    """
    bare = written.strip()
    lowered = bare.lower()
    if bare.upper() in _CODES:
        return bare.upper()
    for name in (lowered, *(lowered.removesuffix(plural) for plural in _PLURALS if lowered.endswith(plural))):
        if found := CURRENCIES.get(name) or UNITS.get(name):
            return found
    return "%" if bare in ("%", "％") else bare


def is_known_unit(written: str) -> bool:
    """Whether a unit is one of the lists, or a currency's code."""
    name = unit_name(written)
    return name in _CODES or name == "%" or name in _NAMES


def is_currency(unit: str | None) -> bool:
    """Whether a unit's one name is a currency's code."""
    return unit in _CODES


def converted(number: float, unit: str, wanted: str) -> float | None:
    """A number of one unit in another one; None where they do not measure the same, as two currencies never do.

    Examples:
        >>> converted(3, "mile", "km"), converted(1, "GWh", "MWh"), converted(1, "EUR", "USD"), converted(1, "kg", "km")
        (4.828032, 1000.0, None, None)
    """
    if unit == wanted:
        return number
    if is_currency(unit) or is_currency(wanted) or "%" in (unit, wanted):
        return None
    if not (_PLAIN.fullmatch(_written(unit)) and _PLAIN.fullmatch(_written(wanted))):
        return None
    quantity, errors = _registry()
    try:
        return round(float(quantity(number, _written(unit)).to(_written(wanted)).magnitude), 9)
    except (errors, OverflowError):
        return None


def _written(unit: str) -> str:
    """A unit as the registry names it."""
    return {"mu": "mu_of_land", "year old": "year", "°C": "degree_Celsius", "°F": "degree_Fahrenheit"}.get(unit, unit)


@cache
def _registry() -> tuple[Any, type[Exception]]:
    """Quantities of the registry of units, which takes a quarter of a second to load, and its errors."""
    import pint  # noqa: PLC0415  only where two units differ

    registry: Any = pint.UnitRegistry()
    registry.define("mu_of_land = 666.6666666666666 * meter ** 2")
    return registry.Quantity, pint.PintError
