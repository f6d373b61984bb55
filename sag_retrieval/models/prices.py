"""What tokens cost: prices are the user's to set, none are built in because they would be out of date."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.models.protocols import Usage


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, in any one currency."""

    input: float
    output: float
    form: ClassVar[str] = "prices as input/output"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Prices written as `input/output`.

        Raises:
            SettingsError: If it is not two numbers of at least 0.

        Example:
            >>> Prices.parse("0.25/2")
            Prices(input=0.25, output=2.0)

        """
        try:
            given, received = map(float, text.split("/"))
        except ValueError:
            given = received = -1.0
        if not (0 <= given < math.inf and 0 <= received < math.inf):
            raise SettingsError(f"prices {text!r} are not `input/output` for a million tokens, such as 0.25/2")
        return cls(given, received)

    def __str__(self) -> str:
        return f"{self.input:g}/{self.output:g}"

    def cost(self, usage: Usage) -> float:
        """Money for a usage."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6
