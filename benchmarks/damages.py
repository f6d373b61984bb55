"""Damages as disks, copies and hands make them: drawn from a seed, done to the files below one folder."""

import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE: Final = 4096
SWAP: Final = "swap"


@dataclass(frozen=True, slots=True)
class Damage:
    """What is done to which file; `place` is a share of its length, `other` the second file of a swap."""

    kind: str
    file: str
    place: float
    other: str = ""

    def __str__(self) -> str:
        where = f" with {self.other}" if self.other else f" at {self.place:.4f}" if self.kind in _AT_A_PLACE else ""
        return f"{self.kind} {self.file}{where}"


def draw(files: Sequence[str], count: int, seed: int) -> Iterator[Damage]:
    """Damages of every kind in turn, to files drawn at random."""
    random_of = random.Random(seed)
    kinds = sorted([*KINDS, SWAP])
    for number in range(count):
        kind = kinds[number % len(kinds)]
        file = random_of.choice(files)
        other = random_of.choice([each for each in files if each != file]) if kind == SWAP else ""
        yield Damage(kind, file, random_of.random(), other)


def inflict(folder: Path, damage: Damage) -> bool:
    """Do a damage; files of other links to the same bytes stay as they are. Whether any byte differs now."""
    path = folder / damage.file
    if damage.kind == SWAP:
        other = folder / damage.other
        draft = path.with_name(f"{path.name}.swapped")
        path.rename(draft)
        other.rename(path)
        draft.rename(other)
        return path.read_bytes() != other.read_bytes()
    before = path.read_bytes()
    path.unlink()
    return KINDS[damage.kind](path, before, damage.place)


def _write(path: Path, before: bytes, after: bytes) -> bool:
    path.write_bytes(after)
    return before != after


def _flip(path: Path, before: bytes, place: float) -> bool:
    after = bytearray(before)
    if after:
        after[int(place * len(after))] ^= 1 << int(place * 8191) % 8
    return _write(path, before, bytes(after))


def _truncate(path: Path, before: bytes, place: float) -> bool:
    return _write(path, before, before[: int(place * len(before))])


def _extend(path: Path, before: bytes, place: float) -> bool:
    return _write(path, before, before + random.Random(place).randbytes(1 + int(place * PAGE)))


def _zero_page(path: Path, before: bytes, place: float) -> bool:
    start = int(place * len(before)) // PAGE * PAGE
    stop = min(start + PAGE, len(before))
    return _write(path, before, before[:start] + bytes(stop - start) + before[stop:])


def _empty(path: Path, before: bytes, _: float) -> bool:
    return _write(path, before, b"")


def _delete(_path: Path, _before: bytes, _place: float) -> bool:
    return True


def _folder(path: Path, _before: bytes, _place: float) -> bool:
    path.mkdir()
    return True


KINDS: Final[dict[str, Callable[[Path, bytes, float], bool]]] = {
    "flip a bit": _flip,
    "truncate": _truncate,
    "extend": _extend,
    "zero a page": _zero_page,
    "empty": _empty,
    "delete": _delete,
    "folder instead": _folder,
}
_AT_A_PLACE: Final = ("flip a bit", "truncate", "zero a page")


class Copy:
    """A folder of links to the files of another one, damaged and mended again without copying them."""

    def __init__(self, original: Path, root: Path) -> None:
        self.original = original
        self._root = root
        self._number = 0
        self.folder = root / "0"
        shutil.copytree(original, self.folder, copy_function=os.link)

    def damage(self, damage: Damage, below: str = "") -> bool:
        """Do one damage below a folder of the copy, which gets a new name: no cache knows it. Whether bytes differ."""
        self._number += 1
        self.folder = self.folder.rename(self._root / str(self._number))
        return inflict(self.folder / below, damage)

    def mend(self, damage: Damage, below: str = "") -> None:
        """Link the damaged files again."""
        for name in filter(None, (damage.file, damage.other)):
            path = self.folder / below / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            path.hardlink_to(self.original / below / name)
