"""What asking needs of a search, whoever serves it: one function and the shape of what it finds."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class FoundPassage(Protocol):
    """A chunk that was found; `start:end` is its place in the document's text."""

    @property
    def chunk_id(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def document_id(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def title(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def text(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def score(self) -> float: ...  # noqa: D102  the higher the better
    @property
    def start(self) -> int: ...  # noqa: D102  the column of the release


class FoundPassages(Protocol):
    """What a search found, best first."""

    @property
    def hits(self) -> Sequence[FoundPassage]: ...  # noqa: D102  at most `top_k`
    @property
    def keys(self) -> Sequence[Any]: ...  # noqa: D102  keys that took part, each with `type` and `value`
    @property
    def trace(self) -> Mapping[str, Any]: ...  # noqa: D102  how it was found


class SearchFunction(Protocol):
    """The atomic search of seed 000 §3.1, bound to a release and a method."""

    def __call__(
        self, text: str, /, keys: Sequence[str] = (), sql: str | None = None, top_k: int = 10
    ) -> FoundPassages:
        """The best chunks for a text.

        Raises:
            FilterError: If the restriction was refused.

        """
        ...
