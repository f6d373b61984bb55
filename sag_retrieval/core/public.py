"""What public classes share: import name, version, conversion to plain values and tables."""

import json
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__version__: Final = version("sag")


AnyClass = TypeVar("AnyClass", bound=type)


def public(cls: AnyClass) -> AnyClass:
    """Make `help`, `repr` and pickles show a class under its public name: `sag_retrieval.Hit`."""
    cls.__module__ = "sag_retrieval"
    return cls


class Convertible:
    """A result that converts to plain values, JSON and tables by the same four methods."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, as `--json` prints them."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # each is a dataclass

    def to_arrow(self) -> "pa.Table":
        """The result as an Arrow table."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = None) -> str:
        """The result of `to_dict` as JSON; Chinese is not escaped.

        Examples:
            >>> import json, sag_retrieval
            >>> with sag_retrieval.open_release() as release:
            ...     answer = release.ask("Who made the O-ring?")
            >>> json.loads(answer.to_json())["mode"]
            'fast'

        Args:
            indent: Spaces per level; None: all on one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, default=str)

    def to_pandas(self) -> "pd.DataFrame":
        """The result of `to_arrow` as a DataFrame.

        Examples:
            >>> import sag_retrieval
            >>> with sag_retrieval.open_release() as release:
            ...     result = release.search("Who made the O-ring?", top_k=2)
            >>> result.to_pandas()["rank"].tolist()
            [1, 2]
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame
