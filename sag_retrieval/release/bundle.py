"""The files of a small layer in one compressed file, which is read into memory."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

PACK: Final = "packed.arrow"
"""File that a packed layer consists of."""
PACKED_ROWS: Final = 50_000
"""Chunks and events that a packed layer has at most: those of a larger one stay mapped, and out of memory."""
_ALIGNED: Final = 64
_SCHEMA: Final = pa.schema({"name": pa.string(), "size": pa.int64(), "data": pa.large_binary()})
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 6))


@dataclass(frozen=True, slots=True)
class PackedPath:
    """A path inside a packed layer: what reading needs of `pathlib.Path`."""

    pack: Path
    members: Mapping[str, pa.Buffer]
    inside: str = ""

    @property
    def name(self) -> str:
        """The last part."""
        return self.inside.rpartition("/")[2]

    def __truediv__(self, name: str) -> "PackedPath":
        """The path of something in this folder."""
        inside = "/".join(part for part in (self.inside, *name.split("/")) if part)
        return replace(self, inside=inside)

    def __str__(self) -> str:
        """The path of the pack and of what is inside."""
        return f"{self.pack}: {self.inside}"

    def with_name(self, name: str) -> "PackedPath":
        """The path with another last part."""
        return replace(self, inside=self.inside.removesuffix(self.name) + name)

    def is_file(self) -> bool:
        """Whether there is such a file."""
        return self.inside in self.members

    def files(self) -> list[str]:
        """Names of the files directly in this folder."""
        below = f"{self.inside}/"
        found = [name.removeprefix(below) for name in self.members if name.startswith(below)]
        return [name for name in found if "/" not in name]

    def read(self) -> pa.Buffer:
        """The bytes of a file, not copied.

        Raises:
            FileNotFoundError: If there is none.

        """
        if self.inside not in self.members:
            raise FileNotFoundError(str(self))
        return self.members[self.inside]

    def read_text(self, encoding: str) -> str:
        """The text of a file."""
        text: str = self.read().to_pybytes().decode(encoding)
        return text


FilePlace = Path | PackedPath
"""Where files of a release lie: in a folder, or inside a packed layer."""


def pack_folder(folder: Path) -> None:
    """Put all files below a folder into one, in their place."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = [path.read_bytes() for path in paths]
    columns = {
        "name": [path.relative_to(folder).as_posix() for path in paths],
        "size": [len(data) for data in contents],
        "data": [data + bytes(-len(data) % _ALIGNED) for data in contents],
    }
    shutil.rmtree(folder)
    folder.mkdir()
    with pa.OSFile(str(folder / PACK), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA, options=_OPTIONS) as writer:
        writer.write_table(pa.table(columns, schema=_SCHEMA))


def open_pack(path: Path) -> PackedPath:
    """Read a packed folder into memory.

    Raises:
        OSError: If the file cannot be read.
        pa.ArrowException: If it is none that `pack_folder` wrote.

    """
    with pa.memory_map(str(path)) as source:
        rows = pa.ipc.open_file(source).read_all().combine_chunks()
    names, sizes = rows["name"].to_pylist(), rows["size"].to_pylist()
    data = rows["data"]
    buffers = (data[number].as_buffer().slice(0, size) for number, size in enumerate(sizes))
    return PackedPath(path, dict(zip(names, buffers, strict=True)))
