"""A little English grammar: what somebody does as a phrase that fits after "was"."""

import re

_MEALS = frozenset("breakfast lunch dinner supper brunch tea coffee drinks dessert".split())
_NOUNS = frozenset(
    "work school rest sleep bed class classes lessons homework housework laundry errands gardening exercise choir "
    "practice rehearsal hobby hobbies tv television music cards chess darts free leisure personal family quiet "
    "relaxation".split()
)
_DOUBLED = frozenset(
    "sit get run swim plan shop chat stop put set cut let begin jog nap knit dig win rub hug pop mop step trim wrap "
    "grab hit quit slip tip tap pat bet beg skip spin strip drop drum scrub stir strum jot log plug prep sip skim "
    "snap sum tug unwrap wed whip zip bid forget refer prefer admit commit control".split()
)
_IRREGULAR = {
    "has": "have",
    "does": "do",
    "goes": "go",
    "is": "be",
    "am": "be",
    "are": "be",
    "was": "be",
    "lies": "lie",
}
_ING = {
    "be": "being",
    "lie": "lying",
    "die": "dying",
    "tie": "tying",
    "see": "seeing",
    "flee": "fleeing",
    "agree": "agreeing",
}
_VERBS = frozenset(
    "answer arrange ask attend bake begin borrow bring browse build buy call carry catch chat check chop clean "
    "clear close collect cook count deliver dig discuss do draw drink drive eat enjoy examine exercise feed fetch "
    "fill find finish fix fold gather get give go greet grind harvest have head hear help invite iron join jog keep "
    "kiss knit lay learn leave lend light listen load lock look make meet mend mix mop open organise organize pack "
    "paint pay pick plan plant play polish post pour practice practise pray prepare put read receive relax repair "
    "rest return review ride rinse run say scrub see sell send serve set sew sharpen shop show shower sing sit "
    "sketch sleep sort speak spend stack start stay stir stop store study sweep swim take talk teach tell thank "
    "think throw tidy treat tune unload unpack use visit wait wake walk wash watch water wave weed weigh welcome "
    "wipe work wrap write".split()
)
_SECOND = re.compile(r"\b(and then|and|or|then) ([a-z]+)\b")
"""What may be a verb after the first one, in phrases such as "wake up and get dressed"."""
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")


def gerund(phrase: str) -> str:
    """What somebody does, as a phrase that begins with a word in -ing.

    Phrases that begin with a verb in the base form or the third person are changed; a meal is had, and any other thing
    is something that one is busy with.

    Example:
        >>> [gerund(text) for text in ("eat lunch", "bakes the bread", "Having tea", "lunch with Bo", "quiet time")]
        ['eating lunch', 'baking the bread', 'having tea', 'having lunch with Bo', 'busy with quiet time']
        >>> gerund("eat something and hear the news"), gerund("wash up, and then writes letters and cards")
        ('eating something and hearing the news', 'washing up, and then writing letters and cards')
    """
    text = " ".join(phrase.split()).rstrip(".;, ")
    match = _WORD.match(text)
    if match is None:
        return f"busy with {text}" if text else "doing nothing in particular"
    first, rest = match.group(), text[match.end() :]
    word = first.lower()
    if word in ("i", "you", "we", "he", "she", "they", "to") and rest.strip():
        # "I eat lunch", "to eat lunch": what follows is the verb.
        return gerund(rest.strip())
    if word in ("will", "would", "should", "can", "plan") and re.match(r"\s+to\s+\w", rest):
        return gerund(rest.strip()[3:])
    if word == "will" and rest.strip():
        return gerund(rest.strip())
    if word == "busy":
        return text[:1].lower() + text[1:]
    if word.endswith("ing") and len(word) > 4 and word not in ("morning", "evening", "meeting", "spring", "string"):
        return word + _SECOND.sub(_second, rest)
    if word in _MEALS:
        return f"having {word}{rest}"
    if word in _NOUNS or word in ("morning", "evening", "afternoon", "meeting", "the", "a", "an", "some", "my", "your"):
        known = {"work": "working", "rest": "resting", "sleep": "sleeping", "exercise": "exercising"}
        return (
            f"{known[word]}{rest}" if word in known else f"busy with {word if word == first.lower() else first}{rest}"
        )
    return _ing(_base(word)) + _SECOND.sub(_second, rest)


def _second(match: re.Match[str]) -> str:
    verb = _base(match[2])
    return f"{match[1]} {_ing(verb)}" if verb in _VERBS else match[0]


def _base(word: str) -> str:
    """The base form of a verb in the base form or the third person."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if re.search(r"(?:ss|sh|ch|x|z)es$", word):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _ing(verb: str) -> str:
    if verb in _ING:
        return _ING[verb]
    if verb in _DOUBLED:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"
