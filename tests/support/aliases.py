"""The planted aliases of tests/data/aliases.jsonl as keys, and how well an alignment finds them."""

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from sag_pipeline.extract.entity_resolution import Alignment, KeyColumns
from sag_pipeline.extract.keys import make_key
from sag_retrieval.language.words import normal_name

FILE = Path(__file__).parents[1] / "data" / "aliases.jsonl"


@dataclass(frozen=True)
class Planted:
    keys: KeyColumns
    said: tuple[tuple[str, str], ...]
    same: frozenset[tuple[str, str]]
    alias_count: int


def read_planted() -> Planted:
    """Keys with the first name of each group the most frequent; `same` holds the pairs of ids that are one thing."""
    rows: dict[str, tuple[str, str, int]] = {}
    same: set[tuple[str, str]] = set()
    said: list[tuple[str, str]] = []
    aliases = 0
    for line in map(json.loads, FILE.read_text(encoding="utf-8").splitlines()):
        names = line.get("same") or line["apart"]
        ids = [_id(line["type"], name) for name in names]
        for place, (key_id, name) in enumerate(zip(ids, names, strict=True)):
            rows.setdefault(key_id, (line["type"], name, 9 - place))
        if "same" in line:
            aliases += len(names) - 1
            same |= {tuple(sorted(pair)) for pair in combinations(dict.fromkeys(ids), 2)}
        said += [(_id(line["type"], alias), _id(line["type"], name)) for alias, name in line.get("said", ())]
    types, values, counts = zip(*rows.values(), strict=True)
    return Planted(
        KeyColumns(list(rows), types, values, [normal_name(value) for value in values], counts),
        tuple(said),
        frozenset(same),
        aliases,
    )


def precision_and_recall(planted: Planted, alignment: Alignment) -> tuple[float, float]:
    """Over pairs of keys with different ids: names that are one key already by their id count in neither."""
    groups: dict[str, list[str]] = {}
    for key_id in planted.keys.key_ids:
        groups.setdefault(alignment.canonical.get(key_id, key_id), []).append(key_id)
    found = {tuple(sorted(pair)) for group in groups.values() for pair in combinations(group, 2)}
    right = len(found & planted.same)
    return right / max(1, len(found)), right / len(planted.same)


def _id(key_type: str, name: str) -> str:
    key = make_key(key_type, name)
    assert key is not None
    return key.key_id
