"""What a run may cost: calls, tokens, money."""

from dataclasses import dataclass, field

from sag_retrieval.core.errors import BudgetExceeded
from sag_retrieval.models.protocols import Usage
from sag_retrieval.models.rate_limits import ChatOptions


@dataclass(slots=True)
class Budget:
    """Counts what calls cost, including those under way, and refuses the one that would pass a bound."""

    options: ChatOptions
    spent: Usage = field(default_factory=Usage)
    _booked: Usage = field(default_factory=Usage)
    _is_spent: bool = False

    def book(self, expected: Usage) -> None:
        """Sets an expected cost aside.

        Raises:
            BudgetExceeded: If the bound would be passed.

        """
        after = self.spent + self._booked + expected
        options = self.options
        bounds = (
            ("calls", after.calls, options.max_calls),
            ("tokens", after.input_tokens + after.output_tokens, options.max_tokens),
            ("money", options.prices.cost(after) if options.prices else 0.0, options.max_cost),
        )
        for name, value, bound in bounds:
            if self._is_spent or (bound is not None and value > bound):
                self._is_spent = True
                raise BudgetExceeded(
                    f"the next call would bring {name} to {value:g}, the budget is {bound:g}; "
                    "raise it and run the same command again: what was answered is kept"
                )
        self._booked += expected

    def settle(self, expected: Usage, real: Usage) -> None:
        """Replaces an expected cost by the real one."""
        self._booked = Usage(
            self._booked.calls - expected.calls,
            0,
            self._booked.input_tokens - expected.input_tokens,
            self._booked.output_tokens - expected.output_tokens,
        )
        self.spent += real
