"""Small pictures and tables for Dagster's pages: what documents say is never Markdown there."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

import dagster as dg

from sag_retrieval.text.words import printable

_ROW, _BAR, _LABEL = 22, 320, 170


def bars(values: Mapping[str, float], title: str) -> str:
    """A bar chart as a Markdown image; an empty mapping gives a line of text."""
    if not values:
        return f"{title}: nothing yet"
    most = max(values.values()) or 1
    rows = "".join(
        f'<text x="{_LABEL - 8}" y="{_ROW * n + 40}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{_LABEL}" y="{_ROW * n + 27}" width="{max(1, _BAR * value / most):.0f}" height="16" fill="#4f7cac"/>'
        f'<text x="{_LABEL + _BAR * value / most + 6:.0f}" y="{_ROW * n + 40}">{value:,.0f}</text>'
        for n, (name, value) in enumerate(values.items())
    )
    width, height = _LABEL + _BAR + 90, _ROW * len(values) + 40
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="8" y="16" font-weight="bold">{escape(title)}</text>{rows}</svg>'
    )
    return f"![{title}](data:image/svg+xml;base64,{b64encode(picture.encode()).decode()})"


def table(rows: Sequence[Mapping[str, object]], width: int = 80) -> dg.MetadataValue:
    """Rows as a table, long cells cut; no rows give a line of text. The page shows each cell as it is, unread."""
    if not rows:
        return dg.MetadataValue.text("no rows")
    names = list(rows[0])
    columns = [dg.TableColumn(name, "string") for name in names]
    records = [dg.TableRecord({name: _cell(row[name], width) for name in names}) for row in rows]
    return dg.MetadataValue.table(records, dg.TableSchema(columns))


def _cell(value: object, width: int) -> str:
    text = " ".join(printable(str("" if value is None else value)).split())
    return text if len(text) <= width else text[: width - 1] + "…"
