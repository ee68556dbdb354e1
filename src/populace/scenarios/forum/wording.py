"""The texts of all questions: the community, its rules, what people have read, and what they are asked."""

import polars as pl

from populace.scenarios.forum.design import ForumDesign

PROFILE = "You are {name}. {persona}"
NAME_ALONE = "You are {name}."
COMMUNITY = "You write in {community}, an online community. What it is for: {goal}{nudges}{warned}"
UNDESCRIBED = "You write in an online community.{warned}"
OPENING = "{read}"
REPLY = "\n\nThe thread so far:\n{transcript}"
JUDGING = (
    "You are a moderator of {community}, an online community. What it is for: {goal}{nudges}\n\n{writer} wrote:\n{said}"
)
READING = "You read in {community}, an online community. What it is for: {goal}\n\n{writer} wrote:\n{said}"

ASK_OPENING = "You open a new thread. What do you post?"
ASK_REPLY = "You answer {to}. What do you write?"
ASK_POWER = "What do you do about this post?"
ASK_RULE = "Which rule does it break?"
ASK_VOTE = "Do you vote on this post?"

TROLLS = (
    "You are a troll here: you mock the others and provoke them, and you do not care about what the community is for.",
    "You come here to pick a fight, and you insult people who ask for help.",
    "You think that this community is a waste of time, and you write so under the posts of others.",
)
"""The personas of trolls, in turn."""

WARNED = "\nA moderator has warned you to keep to the rules."


def nudges(design: ForumDesign) -> str:
    """The rules as a text for writers: what posts are like, and what they are not like, each with its number.

    Example:
        >>> rules = [{"prescriptive": "be kind"}, {"restrictive": "advertising"}]
        >>> print(nudges(ForumDesign(name="N", goal="g", personas=["a", "b"], rules=rules)).strip())
        Posts here are like this: (1) be kind.
        Posts here are NOT like this: (2) advertising.
    """
    lines = []
    for kind, lead in (("prescriptive", "Posts here are like this"), ("restrictive", "Posts here are NOT like this")):
        rules = [
            f"({place}) {rule.text.rstrip('.')}" for place, rule in enumerate(design.rules, 1) if rule.kind == kind
        ]
        if rules:
            lines.append(f"\n{lead}: {'; '.join(rules)}.")
    return "".join(lines)


def front_page(threads: pl.DataFrame, excerpt: int = 200) -> str:
    """The front page as a newcomer reads it before writing."""
    if not threads.height:
        return ""
    rows = threads.select("name", "title", pl.col("text").str.slice(0, excerpt)).iter_rows()
    lines = "\n".join(f"{name}: {title or ''}\n{text}" for name, title, text in rows)
    return f"\n\nYou are new here and have read these threads first:\n{lines}"
