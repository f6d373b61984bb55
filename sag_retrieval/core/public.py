"""What public classes have in common: the name they are imported by, and how results become plain values and tables."""

import json
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

AnyClass = TypeVar("AnyClass", bound=type)


def public(cls: AnyClass) -> AnyClass:
    """Let `help`, `repr` and pickles name a class as users import it: `sag_retrieval.Hit`."""
    cls.__module__ = "sag_retrieval"
    return cls


class Convertible:
    """A result that turns into plain values, JSON and tables under the same four names."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values: what `--json` prints."""
        raise NotImplementedError

    def to_arrow(self) -> "pa.Table":
        """The result as an Arrow table."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = None) -> str:
        """The same as `to_dict` in JSON, Chinese as it is.

        Example:
            >>> import json, sag_retrieval
            >>> with sag_retrieval.open_release() as release:
            ...     answer = release.ask("Who made the O-ring?")
            >>> json.loads(answer.to_json())["mode"]
            'fast'

        Args:
            indent: Spaces of each level; None: all on one line.

        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, default=str)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as `to_arrow` as a DataFrame.

        Example:
            >>> import sag_retrieval
            >>> with sag_retrieval.open_release() as release:
            ...     result = release.search("Who made the O-ring?", top_k=2)
            >>> result.to_pandas()["rank"].tolist()
            [1, 2]

        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame
