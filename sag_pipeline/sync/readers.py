"""Several bounded readers at once: files are converted on all cores, and come back in their order."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import RawDocument
from sag_pipeline.sync.bounded import BoundedReader, waits
from sag_retrieval.core.records import Document, Quarantined

ReadDocument = tuple[Document | Quarantined, str]
"""A document, or why it is skipped, and what its parser warned of."""


class Readers:
    """Reads found documents with a number of readers, each with a converting process of its own."""

    def __init__(self, options: SourceOptions, count: int) -> None:
        """`count`: files converted at a time; the process of a reader starts with the first file it converts."""
        self._options = options
        self._count = count
        self._free: SimpleQueue[BoundedReader] = SimpleQueue()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Itself."""
        for _ in range(self._count):
            self._free.put(self._stack.enter_context(BoundedReader(self._options)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes that run."""
        self._stack.close()

    def read(self, found: Iterable[RawDocument]) -> Iterator[ReadDocument]:
        """What is read of each, in order; at most twice as many as there are readers are under way or unread.

        Raises:
            SourceError: If a converting process cannot be started.

        """
        if self._count == 1:
            yield from map(self._read, found)
            return
        under_way: deque[Future[ReadDocument] | RawDocument] = deque()
        with BoundedReader(self._options) as here, ThreadPoolExecutor(self._count, "sag-read") as threads:

            def first() -> ReadDocument:
                each = under_way.popleft()
                return (here.read(each), here.notes) if isinstance(each, RawDocument) else each.result()

            try:
                for raw in found:
                    under_way.append(threads.submit(self._read, raw) if waits(raw) else raw)
                    if len(under_way) >= 2 * self._count:
                        yield first()
                while under_way:
                    yield first()
            finally:
                for each in under_way:
                    if isinstance(each, Future):
                        each.cancel()

    def _read(self, raw: RawDocument) -> ReadDocument:
        reader = self._free.get()
        try:
            return reader.read(raw), reader.notes
        finally:
            self._free.put(reader)
