"""What a prompt says about where the level of its treatment comes from, read by rules and weights.

The reading is of English text. All that a prompt says is weighed together (`lint_evidence.py`); whether it is about the
world as it is found is recognised by phrases (`lint_phrases.toml`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from populace.causal.lint_clauses import clauses, first_phrase, kinds_of_phrases
from populace.causal.lint_evidence import evidence, settling_evidence

_SIGNS_OF_NATURE = 2
"""How many different signs of the world as it is found settle that a question is about it."""


@dataclass(frozen=True)
class SourceReading:
    """What a prompt says about where the level of its treatment comes from.

    Attributes:
        intervention: What says most clearly that the level was set independently of everything else; empty where the
            prompt does not say it.
        observation: The phrase that says that the question is about the world as it is found; empty where nothing does.

    Example:
        >>> prompt = "Your price was drawn at random. It is $3. Do you buy?"
        >>> bool(read_source(prompt, "price", "$3", ["$2", "$3"]).intervention)
        True
    """

    intervention: str
    observation: str


def read_source(prompt: str, treatment: str, level: str, levels: Sequence[str]) -> SourceReading:
    """Read how a prompt says that the level of the treatment came about.

    Args:
        prompt: The whole prompt, as it is sent.
        treatment: What is varied, in words.
        level: How the level is written in this prompt; empty where the prompt states all levels, or none.
        levels: How all levels are written.
    """
    read = clauses(prompt, treatment, level, levels)
    statements = [clause.text for clause in read if not clause.asks]
    if description := _description([clause.text for clause in read]):
        return SourceReading("", description)
    settled = settling_evidence(evidence(read, treatment, levels))
    return SourceReading(settled, first_phrase("observation", statements))


def _description(texts: Sequence[str]) -> str:
    """What says that the question is about the world as it is found: an outright statement, or two different signs."""
    if outright := first_phrase("description", texts):
        return outright
    signs = kinds_of_phrases("nature", texts)
    return signs[0] if len(signs) >= _SIGNS_OF_NATURE else ""


def says_constant(prompt: str) -> str:
    """The phrase that says that nothing but the treatment differs; empty where nothing does."""
    return first_phrase("constant", [prompt]) or first_phrase("contrast", [prompt])
