"""A validity card and the checks that it lists."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from populace.base.foreign import for_html

CheckVerdict = Literal["pass", "fail", "undecided", "inform", "not measured"]
MARKS: dict[CheckVerdict, str] = {"pass": "✓", "fail": "✗", "undecided": "~", "inform": "·", "not measured": "?"}
"""How a verdict is marked, so that nobody needs colour to see it."""


@dataclass(frozen=True)
class Check:
    """One check of a validity card.

    Attributes:
        name: The name of the check.
        verdict: `pass`, `fail` where the whole interval lies beyond the threshold, `undecided` where the threshold lies
            within it, `inform` where no threshold applies, or `not measured`.
        shown: The result as text.
        reason: What the result means, in a sentence.
        threshold: The limit to pass, as text.
        value: The result as a number.
        n: The number of answers, prompts, people or runs behind it.
        low: The lower end of its 95 % interval; None where it has none.
        high: The upper end.

    Example:
        >>> print(Check("replicates", "fail", "4", "Four runs tell little.", "at least 20", 4.0, 4))
        ✗ replicates: 4 (at least 20). Four runs tell little.
    """

    name: str
    verdict: CheckVerdict
    shown: str
    reason: str
    threshold: str = ""
    value: float | None = None
    n: int | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        against = f" ({self.threshold})" if self.threshold else ""
        return f"{MARKS[self.verdict]} {self.name}: {self.shown}{against}. {self.reason}"


_NUMBERS = dict.fromkeys(("value", "low", "high"), pl.Float64()) | {"n": pl.Int64()}


@dataclass(frozen=True, repr=False)
class ValidityCard:
    """How far a result can be trusted, on one page.

    Checks that pass say that nothing was found against the result in this respect, not that it is true of people.

    Attributes:
        title: The name of the run or experiment.
        checks: The checks.
        warnings: Other caveats of the result.
    """

    title: str
    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Check:
        """A check by name."""
        return {check.name: check for check in self.checks}[name]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return self._with("fail")

    @property
    def verdict(self) -> str:
        """The card in a sentence."""
        passed, missing = len(self._with("pass")), self._with("not measured")
        decided = passed + len(self.failed)
        text = f"{passed} of {decided} checks passed"
        if self.failed:
            text += f"; failed: {', '.join(check.name for check in self.failed)}"
        undecided = self._with("undecided")
        if undecided:
            text += f"; undecided: {', '.join(check.name for check in undecided)}"
        if missing:
            text += f"; not measured: {', '.join(check.name for check in missing)}"
        return f"{text}."

    def table(self) -> pl.DataFrame:
        """A row for each check."""
        names = ("name", "verdict", "shown", "threshold", "reason", "value", "low", "high", "n")
        columns = {name: [getattr(check, name) for check in self.checks] for name in names}
        return pl.DataFrame(columns, schema_overrides=_NUMBERS).rename({"name": "check"})

    def __repr__(self) -> str:
        return f"<validity of {self.title}: {self.verdict}>"

    def __str__(self) -> str:
        lines = [f"Validity of {self.title}: {self.verdict}", *(f"  {check}" for check in self.checks)]
        return "\n".join([*lines, *(f"  ! {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        cells = [(MARKS[c.verdict] + " " + c.verdict, c.name, c.shown, c.threshold, c.reason) for c in self.checks]
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{for_html(cell)}</td>" for cell in row) + "</tr>"
            for row in cells
        )
        warnings = "".join(f"<li>{for_html(text)}</li>" for text in self.warnings)
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("", "check", "found", "bar", "meaning"))
        return (
            f"<p><b>Validity of {for_html(self.title)}</b>: {for_html(self.verdict)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + (f"<ul>{warnings}</ul>" if warnings else "")
        )

    def _with(self, verdict: CheckVerdict) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.verdict == verdict)
