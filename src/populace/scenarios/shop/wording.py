"""What shoppers are told before they act: what they did so far, the page, and what they think.

A simulation, the measure of next actions and training examples all use these words.
"""

import polars as pl

from populace.questions import Text

SITUATION = (
    "You use a web shop. What you did so far:\n{deeds}\n\n"
    "The page that you see now, as simplified HTML; the names of its elements are in the attribute name:\n{page}"
)
"""What people are told before they choose."""
THOUGHT = "\n\nWhat you think: {thought}"
"""What follows it, where people think before they act."""
THINKING = Text("What do you want to do next on this page, and why? Say it in one sentence.", max_words=40)
"""The question before the action, where people think first."""

NO_DEEDS = "(nothing yet)"
MOST_DEEDS = 12
"""How many of the last actions people are told."""


def deed_lines(action: pl.Expr, element: pl.Expr, text: pl.Expr, thought: pl.Expr | None = None) -> pl.Expr:
    """An action in words to the person who took it, as a column.

    Args:
        action: `click`, `type_and_submit` or `terminate`.
        element: The element that was used.
        text: What was typed.
        thought: What the person thought before; null for nothing.

    Example:
        >>> row = pl.DataFrame({"action": "click", "element": "header.cart", "text": [None], "thought": "Enough."})
        >>> row.select(deed_lines(*map(pl.col, row.columns))).item()
        'You thought: Enough. You clicked header.cart.'
    """
    typed = pl.concat_str(pl.lit('You typed "'), text.fill_null(""), pl.lit('" into '), element, pl.lit("."))
    deed = (
        pl.when(action == "click")
        .then(pl.concat_str(pl.lit("You clicked "), element, pl.lit(".")))
        .when(action == "type_and_submit")
        .then(typed)
        .otherwise(pl.lit("You left."))
    )
    if thought is None:
        return deed
    words = pl.concat_str(pl.lit("You thought: "), thought, pl.lit(" "))
    return pl.concat_str(pl.when(thought.is_not_null()).then(words).otherwise(pl.lit("")), deed)


def deed_texts(lines: pl.Expr) -> pl.Expr:
    """The last lines of each list as one text, numbered from the first action of the session."""
    return (
        pl.when(lines.list.len() == 0)
        .then(pl.lit(NO_DEEDS))
        .otherwise(lines.list.tail(MOST_DEEDS).list.join("\n", ignore_nulls=False))
    )
