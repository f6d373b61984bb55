"""Which files are read, and how: one entry a suffix, from which listing, reading and converting follow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sag_retrieval.core.plugins import Registry

Read = Callable[[bytes], tuple[str | None, str]]
"""From a file's bytes to its title, if it names one, and its text; raises ValueError with the reason if it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """How files of a suffix are read.

    A plug-in is such a reader with `read`, or the function `read` itself. It works in the process that converts, under
    the bounds of `SourceOptions`, and is given bytes alone.
    """

    name: str
    """The suffix, in lower case and without its dot."""
    converter: str = ""
    """MarkItDown's converter; empty: another reads it."""
    is_textual: bool = False
    """Whether the converter is given decoded text."""
    is_package: bool = False
    """Whether it is an archive to be looked through before it is unpacked."""
    read: Read | None = None
    """A function of the bytes; None: a converter, or this project's own parsing of texts and JSON."""

    @property
    def is_converted(self) -> bool:
        """Whether it works in the process that converts."""
        return bool(self.converter or self.read)


def _adapted(name: str, found: object) -> FileReader:
    if isinstance(found, FileReader):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} reads nothing; name a function of bytes")
    return FileReader(name=name, read=found)


READERS: Final = Registry(
    "sag.readers",
    [
        FileReader(name="md"),
        FileReader(name="txt"),
        FileReader(name="json"),
        FileReader(name="jsonl"),
        FileReader(name="html", converter="HtmlConverter", is_textual=True),
        FileReader(name="htm", converter="HtmlConverter", is_textual=True),
        FileReader(name="csv", converter="CsvConverter", is_textual=True),
        FileReader(name="pdf", converter="PdfConverter"),
        FileReader(name="docx", converter="DocxConverter", is_package=True),
        FileReader(name="pptx", converter="PptxConverter", is_package=True),
        FileReader(name="xlsx", converter="XlsxConverter", is_package=True),
    ],
    _adapted,
)
"""Readers by suffix, without its dot."""


def is_read(suffix: str) -> bool:
    """Whether there is a reader for files of this suffix, such as `.pdf`; no plug-in is loaded."""
    return suffix.removeprefix(".") in READERS


def is_converted(suffix: str) -> bool:
    """Whether such files are read in the process that converts, as all of a plug-in's are; none is loaded."""
    name = suffix.removeprefix(".")
    return name in READERS and (name not in READERS.own or READERS.own[name].is_converted)


def reader_of(suffix: str) -> FileReader:
    """The reader of a suffix.

    Raises:
        ValueError: If there is none.
        PluginError: If the package that adds it cannot be used.

    """
    if not is_read(suffix):
        raise ValueError(f"files of kind {suffix!r} are not read")
    return READERS[suffix.removeprefix(".")]
