"""What the words of a prompt say about where the level of its treatment comes from, and how much each of them weighs.

Few prompts say it in the words that one expects. So everything that a prompt says is weighed: kinds of statements that
are recognised by their wording ("nobody considered who you are", `lint_phrases.toml` and `lint_signs.toml`), and plain
words and pairs of words. The weights (`lint_weights.csv`) were fitted to designs of several authors, and chosen by how
well they did on the designs of an author whom they had not seen: `python benchmarks/lint_weights.py`.
"""

import csv
import functools
import itertools
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from populace.causal.lint_clauses import Clause, first_phrase, stem, treatment_stems

KIND_VALUE = 3.0
"""How much a kind of statement counts beside a plain word when weights are fitted."""

_TOKEN = re.compile(r"[a-z]+(?:'t)?|\d+")
_CLASS = re.compile(r"<(\w+)>")
_PHRASES = ("chance", "drawn", "imposed", "decree", "constant", "contrast", "observation", "gives", "apparatus")
_LEVEL = "~level"
_TREATMENT = "~treatment"
_NUMBER = "~number"
_INTERCEPT = "~intercept"


def evidence(clauses: Sequence[Clause], treatment: str, levels: Sequence[str]) -> frozenset[str]:
    """The names of all that a prompt says: kinds of statements in brackets, words, and pairs of words.

    Example:
        >>> from populace.causal.lint_clauses import clauses
        >>> read = clauses("A coin decides. It costs $3.", "price", "$3", ["$2", "$3"])
        >>> sorted(name for name in evidence(read, "price", ["$2", "$3"]) if "coin" in name or "chance" in name)
        ['[chance near]', '[chance]', 'a coin', 'coin', 'coin decid']
    """
    statements = [clause for clause in clauses if not clause.asks]
    names = set(_kinds(statements))
    called = treatment_stems(treatment)
    level_words = _level_words(tuple(levels))
    for clause in statements:
        words = _words(clause.text, called, level_words)
        names.update(words)
        names.update(f"{first} {second}" for first, second in itertools.pairwise(words))
        if clause.states:
            names.update(f"stated {word}" for word in words)
    return frozenset(names)


def evidence_value(name: str) -> float:
    """How much a piece of evidence counts before it is weighed."""
    return KIND_VALUE if name.startswith("[") else 1.0


def settling_evidence(names: frozenset[str]) -> str:
    """The evidence that weighs most, where all of it together says that the level was set; empty where it does not.

    Example:
        >>> settling_evidence(frozenset({"coffee", "the"}))
        ''
    """
    weights = {name: _weights()[name] * evidence_value(name) for name in sorted(names) if name in _weights()}
    if _weights()[_INTERCEPT] + sum(weights.values()) < 0:
        return ""
    return "; ".join(sorted(weights, key=lambda name: -weights[name])[:3])


@functools.cache
def _weights() -> dict[str, float]:
    with Path(__file__).with_name("lint_weights.csv").open(encoding="utf-8", newline="") as file:
        return {row["evidence"]: float(row["weight"]) for row in csv.DictReader(file)}


def _kinds(statements: Sequence[Clause]) -> Iterator[str]:
    """The kinds of statements, and whether they are made about the level."""
    texts = [clause.rest for clause in statements]
    near = [clause.rest for clause in statements if clause.near]
    # Where chance decided, a reason is one for leaving it to chance.
    without_chance = [text for text in near if not first_phrase("chance", [text])]
    for kind in _PHRASES:
        if first_phrase(kind, texts):
            yield f"[{kind}]"
        if first_phrase(kind, near):
            yield f"[{kind} near]"
    if first_phrase("chance", [clause.rest for clause in statements if clause.gives]):
        yield "[chance giving]"
    for kind in _sign_patterns():
        about = without_chance if kind == "mechanism reason" else texts
        if any(_shows(kind, text) for text in about):
            yield f"[{kind}]"


@functools.lru_cache(maxsize=32_768)  # Of each clause every kind; most clauses stand in many prompts.
def _shows(kind: str, text: str) -> bool:
    return any(pattern.search(text) for pattern in _sign_patterns()[kind])


@functools.cache
def _sign_patterns() -> dict[str, list[re.Pattern[str]]]:
    vocabulary: dict[str, dict[str, Any]] = tomllib.loads(
        Path(__file__).with_name("lint_signs.toml").read_text("utf-8")
    )
    words = vocabulary["words"]
    return {
        f"{way} {kind}": [re.compile(_CLASS.sub(lambda name: words[name[1]], p), re.IGNORECASE) for p in patterns]
        for way in ("mechanism", "equality")
        for kind, patterns in vocabulary[way].items()
    }


@functools.lru_cache(maxsize=256)
def _level_words(levels: tuple[str, ...]) -> re.Pattern[str] | None:
    texts = [re.escape(level) for level in sorted(levels, key=len, reverse=True) if level]
    return re.compile(rf"(?<![\w.])(?:{'|'.join(texts)})(?![\w]|\.\d)", re.IGNORECASE) if texts else None


def _words(text: str, called: frozenset[str], levels: re.Pattern[str] | None) -> list[str]:
    """The words of a text without endings; level, treatment and numbers by what they are."""
    parts = levels.split(text) if levels is not None else [text]
    words: list[str] = []
    for place, part in enumerate(parts):
        if place:
            words.append(_LEVEL)
        for word in _TOKEN.findall(part.lower().replace("’", "'")):
            if word[0].isdigit():
                words.append(_NUMBER)
            elif len(word) > 2 and stem(word) in called:
                words.append(_TREATMENT)
            else:
                words.append(word if len(word) < 5 else stem(word))
    return words
