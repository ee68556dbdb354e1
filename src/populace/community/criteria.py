"""The questions that judges answer about a post."""

from __future__ import annotations

from dataclasses import dataclass

from populace.scenarios.forum.design import ForumDesign


@dataclass(frozen=True)
class Criterion:
    """A yes-or-no question about one post.

    Attributes:
        name: Its name in tables.
        text: The question as the judge reads it.
        rule: The number of the rule that it is about, if any.
        flagged: The answer for which a post is flagged.
        flag: What the flag says.
    """

    name: str
    text: str
    rule: int | None = None
    flagged: str = "yes"
    flag: str = ""


GENERAL = (
    Criterion("on_topic", "Is the post about what this community is for?", flagged="no", flag="off topic"),
    Criterion("civil", "Is the post civil towards the other people in the thread?", flagged="no", flag="uncivil"),
    Criterion("harassment", "Does the post attack or demean a group of people?", flag="attacks a group"),
    Criterion("spam", "Is the post an advertisement, or repetition without content?", flag="spam"),
)
"""The questions for every community."""

_ABOUT = {"prescriptive": "what is wanted", "restrictive": "what is not wanted"}


def criteria(design: ForumDesign) -> tuple[Criterion, ...]:
    """The questions about a post of a community: the general ones, then one for each rule.

    Example:
        >>> design = ForumDesign(name="Tea", goal="to talk of tea", rules=["No coffee."], personas=["Ann", "Bo"])
        >>> criteria(design)[-1].text
        'A rule of the community, about what is not wanted: “No coffee.” Does the post break this rule?'
    """
    rules = [
        Criterion(
            f"rule_{number}",
            f"A rule of the community, about {_ABOUT[rule.kind]}: “{rule.text}” Does the post break this rule?",
            number,
            flag=f"breaks rule {number}",
        )
        for number, rule in enumerate(design.rules, 1)
    ]
    return (*GENERAL, *rules)
