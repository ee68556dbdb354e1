"""How models are called and what may be spent: the source of parameters, options and forms alike."""

import pydantic

from populace.base.errors import BudgetError
from populace.base.plain_data import PlainData
from populace.broker.prices import currency
from populace.broker.usage import Usage


class CallSettings(PlainData):
    """How models are called, and the limits at which a run stops and can be resumed. None means no limit.

    Example:
        >>> CallSettings(max_calls=100).concurrency
        16
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    concurrency: int = pydantic.Field(
        default=16, ge=1, description="How many calls may be under way at once; it changes no result."
    )
    timeout_s: float = pydantic.Field(
        default=120.0, gt=0, description="How many seconds one attempt of a call may take."
    )
    retries: int = pydantic.Field(
        default=4, ge=0, description="How many times an attempt that failed is repeated before the call has failed."
    )
    max_calls: int | None = pydantic.Field(
        default=None, ge=1, description="Stop after this many calls; it can be continued later."
    )
    max_tokens: int | None = pydantic.Field(
        default=None, ge=1, description="Stop after this many tokens; it can be continued later."
    )
    max_money: float | None = pydantic.Field(
        default=None,
        gt=0,
        description="Stop when calls have cost this much, by the file of prices; it can be continued later.",
    )
    max_seconds: float | None = pydantic.Field(
        default=None, gt=0, description="Stop after this many seconds; it can be continued later."
    )
    play_timeout_s: float | None = pydantic.Field(
        default=None,
        gt=0,
        description="How many seconds a question to somebody who plays a person waits before it is unanswered; "
        "without end at the keyboard, 15 minutes in Studio.",
    )

    @property
    def limits_spending(self) -> bool:
        """Whether tokens or money are limited, which only a reply tells."""
        return self.max_tokens is not None or self.max_money is not None

    def check(self, usage: Usage, seconds: float, *, calls: bool = True) -> None:
        """Raise BudgetError where a limit is reached.

        Args:
            usage: What was spent so far.
            seconds: How long it took.
            calls: Whether the limit on calls counts.
        """
        for name, allowed, spent in (
            ("calls", self.max_calls if calls else None, usage.calls),
            ("tokens", self.max_tokens, usage.tokens),
            ("money", self.max_money, usage.cost),
            ("seconds", self.max_seconds, seconds),
        ):
            if allowed is not None and spent >= allowed:
                raise BudgetError(name, allowed, spent, unit=currency() if name == "money" else "")

    def calls_left(self, usage: Usage) -> int | None:
        """How many more calls may be made, or None for any number."""
        return None if self.max_calls is None else max(0, self.max_calls - usage.calls)
