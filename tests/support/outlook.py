"""The least Outlook message: a compound file with streams of text properties."""

import struct

_SECTOR, _FREE, _END, _FAT = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_LEAST = 4096
"""A stream of this length and more lies in whole sectors."""


def message(subject: str, sender: str, body: str) -> bytes:
    """A message without recipients."""
    texts = {"0037": subject, "0C1A": sender, "1000": body, "001A": "IPM.Note"}
    streams = {f"__substg1.0_{name}001F": text.encode("utf-16-le") for name, text in texts.items()}
    entries = b"".join(
        struct.pack("<HHIQ", 0x001F, int(name, 16), 6, len(text.encode("utf-16-le")) + 2)
        for name, text in texts.items()
    )
    streams["__properties_version1.0"] = bytes(8) + struct.pack("<IIII", 0, 0, 0, 0) + bytes(8) + entries
    return compound(streams)


def compound(streams: dict[str, bytes]) -> bytes:
    """A compound file with streams at its root; small ones lie in the short stream of the root."""
    short, short_fat, places = b"", [], {}
    for name, data in streams.items():
        first = len(short) // 64
        count = max(1, -(-len(data) // 64))
        short += data.ljust(count * 64, b"\0")
        short_fat += [*range(first + 1, first + count), _END]
        places[name] = (first, len(data))
    assert max(map(len, streams.values())) < _LEAST
    entries = [_entry("Root Entry", 5, 1, 0, 0)]
    names = sorted(streams, key=lambda name: (len(name), name))
    for number, name in enumerate(names, 1):
        right = number + 1 if number < len(names) else _FREE
        entries.append(_entry(name, 2, _FREE, *places[name], right=right))
    directory_sectors = -(-len(entries) * 128 // _SECTOR)
    short_sectors, fat_sectors = -(-len(short) // _SECTOR), -(-len(short_fat) * 4 // _SECTOR)
    first_short = 1 + directory_sectors + fat_sectors
    entries[0] = _entry("Root Entry", 5, 1, first_short, len(short))
    directory = b"".join(entries).ljust(directory_sectors * _SECTOR, b"\0")
    fat = [_FAT, *_chain(1, directory_sectors), *_chain(1 + directory_sectors, fat_sectors)]
    fat += _chain(first_short, short_sectors)
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(_SECTOR, b"\xff")
    short_table = struct.pack(f"<{len(short_fat)}I", *short_fat).ljust(fat_sectors * _SECTOR, b"\xff")
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, _LEAST, 1 + directory_sectors, fat_sectors, _END, 0)
    header += struct.pack("<I", 0) + struct.pack("<I", _FREE) * 108
    return header + table + directory + short_table + short.ljust(short_sectors * _SECTOR, b"\0")


def _chain(first: int, count: int) -> list[int]:
    return [*range(first + 1, first + count), _END]


def _entry(name: str, kind: int, child: int, first: int, size: int, right: int = _FREE) -> bytes:
    raw = name.encode("utf-16-le")
    head = raw.ljust(64, b"\0") + struct.pack("<HBB", len(raw) + 2, kind, 1)
    return head + struct.pack("<III", _FREE, right, child) + bytes(36) + struct.pack("<IQ", first, size)
