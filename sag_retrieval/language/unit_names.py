"""Names of units in German, French, Spanish and Russian, in the forms that stand behind a number."""

from typing import Final

_FORMS: Final = {
    "km": "kilometern kilomètre kilomètres kilómetro kilómetros км километр километра километров километрах",
    "m": "metern mètre mètres metros м метр метра метров метрах",
    "cm": "zentimeter zentimetern centimètre centimètres centímetro centímetros см сантиметр сантиметра сантиметров",
    "mm": "millimetern millimètre millimètres milímetro milímetros мм миллиметр миллиметра миллиметров",
    "ha": "hektar hectárea hectáreas га гектар гектара гектаров",
    "kg": "kilogramm kilogrammes kilogramos кг килограмм килограмма килограммов",
    "t": "tonnen toneladas тонна тонны тонн",
    "l": "litern litros литр литра литров",
    "hour": "stunde stunden heure heures horas час часа часов",
    "minute": "minuten minutos минута минуты минут минуту",
    "second": "sekunde sekunden seconde secondes segundos секунда секунды секунд",
    "day": "tage tagen jours días день дня дней",
    "week": "woche wochen semaine semaines semanas неделя недели недель",
    "month": "monate monaten meses месяц месяца месяцев",
    "year": "jahre jahren années años года лет",
    "person": "personnes personas mitarbeiter mitarbeitern человек человека",
}
FORMS_OF_UNITS: Final = {form: unit for unit, forms in _FORMS.items() for form in forms.split()}
"""Unit by the forms of its names; forms that are English words as well are left out."""
PERCENT_WORDS: Final = (
    r"(?:prozent|pour\scent|por\sciento|por\scento|per\scento|процент(?:ов|а|ы|ам|ах|ами)?)(?![A-Za-zа-яё])"
)
"""What a percent sign is called, as part of a verbose regular expression."""
