"""Give names the type that their neighbours show: who speaks, the column of a table, a place before a comma."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sag_pipeline.extract.rules.name_types import ENTITY, ORGANISATION, PERSON, PLACE, may_be_person, name_type
from sag_pipeline.extract.rules.turns import turns_of
from sag_retrieval.language.layout import Line, LineKind
from sag_retrieval.language.mentions import Mention

_CELL = re.compile(r"(?<!\\)\|")
_LABEL = re.compile(r"[^:：|]{1,40}[:：]\s*\Z")
_LEAST_SHARE = 0.1
"""Of the names of a column, whose type must be known."""


def speakers(text: str, lines: Sequence[Line]) -> Iterator[Mention]:
    """Who speaks in a conversation, at every turn."""
    for turn in turns_of(text, lines).values():
        key_type = name_type(turn.speaker)
        yield Mention(turn.start, turn.end, PERSON if key_type in (ENTITY, PLACE) else key_type, turn.speaker)


def with_types_of_neighbours(text: str, lines: Sequence[Line], found: Sequence[Mention]) -> list[Mention]:
    """The same mentions; names of open type have the type of their table's column, or of the place before a comma."""
    mentions = sorted(found, key=lambda mention: (mention.start, -mention.end))
    types = _types_of_columns(text, lines, mentions)
    for row, (before, after) in enumerate(pairwise(mentions), start=1):
        if before.key_type == PLACE and after.key_type == ENTITY and text[before.end : after.start] == ", ":
            types.setdefault(row, PLACE)
    return [
        mention._replace(key_type=types[row]) if row in types and _may_be(types[row], mention) else mention
        for row, mention in enumerate(mentions)
    ]


def _may_be(key_type: str, mention: Mention) -> bool:
    name = str(mention.value)
    if mention.key_type != ENTITY or not name.replace(" ", "").replace("-", "").replace("'", "").isalpha():
        return False
    return may_be_person(name) if key_type == PERSON else not name.isupper()


def _types_of_columns(text: str, lines: Sequence[Line], mentions: Sequence[Mention]) -> dict[int, str]:
    """Row of a mention that fills its cell → the one type that is known in its column, if enough of it is."""
    starts = [mention.start for mention in mentions]
    columns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    table = 0
    for line in lines:
        if line.kind is not LineKind.ROW:
            table += line.kind is not LineKind.RULE
            continue
        borders = [found.start() for found in _CELL.finditer(text, line.start, line.end)]
        for row in range(bisect_left(starts, line.start), bisect_left(starts, line.end)):
            if _fills_cell(text, line, borders, mentions[row]):
                columns[table, bisect_right(borders, mentions[row].start)].append(row)
    found: dict[int, str] = {}
    for rows in columns.values():
        known = Counter(mentions[row].key_type for row in rows)
        typed = {key_type for key_type in known if key_type != ENTITY}
        if len(typed) == 1 and (key_type := typed.pop()) in (PERSON, PLACE, ORGANISATION):
            found |= dict.fromkeys(rows, key_type) if known[key_type] >= _LEAST_SHARE * len(rows) else {}
    return found


def _fills_cell(text: str, line: Line, borders: Sequence[int], mention: Mention) -> bool:
    """Whether nothing but a label stands in the cell beside a name."""
    place = bisect_right(borders, mention.start)
    first = borders[place - 1] + 1 if place else line.start
    last = borders[place] if place < len(borders) else line.end
    before, after = text[first : mention.start], text[mention.end : last]
    return not after.strip() and (not before.strip() or bool(_LABEL.match(before)))
