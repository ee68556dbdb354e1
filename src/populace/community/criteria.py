"""What judges are asked of a post."""

from __future__ import annotations

from dataclasses import dataclass

from populace.community.community import Charter


@dataclass(frozen=True)
class Criterion:
    """A question about one post, with yes or no for an answer.

    Attributes:
        name: By which it is known in tables.
        text: The question, as worded to the judge.
        rule: The number of the rule it is about, where it is about one.
        flagged: The answer that a reader should be told of.
        flag: In which words.
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
"""What is asked in every community."""


def criteria(design: Charter) -> tuple[Criterion, ...]:
    """What is asked of a post in a community: the general questions, then one for each rule.

    Example:
        >>> from populace.community import Rule
        >>> [each.name for each in criteria(Charter("Tea", "to talk of tea", (Rule(1, "No coffee."),)))][-2:]
        ['spam', 'rule_1']
    """
    rules = [
        Criterion(
            f"rule_{rule.number}",
            f"One rule of the community is: “{rule.text}” Does the post break this rule?",
            rule.number,
            flag=f"breaks rule {rule.number}",
        )
        for rule in design.rules
    ]
    return (*GENERAL, *rules)
