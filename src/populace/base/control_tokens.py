"""Control tokens of chat formats in text: `<|im_end|>`, `</s>`, `[INST]` and their kind.

The tokenizer of a chat model reads such a piece of text as one token that begins or ends a message. A name, a persona
or a post that contains one would speak with the voice of the system. Here the brackets of such a piece are replaced by
others that no tokenizer gives a meaning: `‹|im_end|›`, `(INST)`.
"""

import re
from collections.abc import Iterable

_BARRED = r"<\|[^\s<>|]+\|?>|<[^\s<>|]+\|>|\[\|[^\s\[\]|]+\|\]"
"""Names with a bar inside the brackets: most formats. The name may be anything without white space."""
_ANGLED = "|".join(
    (
        r"s|unk|pad|bos|eos|mask|sep|cls|nl|eod|eop|eot|eom|eoh|eoa|sop|role",
        r"(?:bos|eos|pad|unk|cls|sep|mask|eop|eod|eot|eom)_token|(?:begin|beginning|start|end)_of_\w+|im_\w+",
        r"fim[_-]\w+|repo_?name|file_?sep|filename|gh_stars|(?:issue|jupyter|commit|pr)_\w+|empty_output",
        r"extra_id_\d+|unused_?\d+|reserved_\w*\d+|special_\w*\d+|control_\d+|mask:\d+|0x[0-9a-f]{2}|seed:[\w:]+",
        r"think|thinking|thought|reasoning|reflection|scratchpad",
        r"tools?|tool_\w+|function|function_\w+|function=[^\s<>]+|parameter=[^\s<>]+|\w+:tool_\w+",
        r"image|video|audio|(?:image|video|audio|vision)_\w+",
    )
)
"""Names between < and >, with or without a slash, that models have as tokens of their own."""
_SQUARED = "|".join(
    (
        r"INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]+|MODEL_SETTINGS|ARGS|CALL_ID|CONTENT|THINK|REF",
        r"IMG|IMG_[A-Z]+|AUDIO|BEGIN_AUDIO|TRANSCRIBE|PREFIX|MIDDLE|SUFFIX",
        r"CLS|SEP|MASK|[gs]MASK|PAD|UNK|BOS|EOS|NL|control_\d+|unused_?\d+",
    )
)
"""Names between [ and ], in exactly these letters."""
_OTHERS = r"<</?SYS>>|>>(?:TITLE|ABSTRACT|INTRODUCTION|SUMMARY|COMMENT|ANSWER|QUESTION|DOMAIN|PREFIX|SUFFIX|MIDDLE)<<"
_OTHERS += r"|\]~!?b[\[\]]|\[e~\[|\]<\]\w+\[>\["
_FORMS = rf"{_BARRED}|<(?i:/?(?:{_ANGLED})/?)>|\[/?(?:{_SQUARED})\]|{_OTHERS}"
"""Every form, for the regular expressions of Python and of Polars alike; each begins with one literal character, which
makes the search quick."""
_TOKEN = re.compile(_FORMS)
_INVISIBLE = "\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
_FOLDABLE = f"[{_INVISIBLE}＜＞［］｜]"
"""What a tokenizer may drop or read as another character before it looks for tokens."""
_FOLD = re.compile(_FOLDABLE)
_FOLDED = str.maketrans("＜＞［］｜", "<>[]|")
_OTHER_BRACKETS = str.maketrans("<>[]＜＞［］", "‹›()‹›()")
POLARS_PATTERN = f"{_FORMS}|{_FOLDABLE}"
"""Found in every text in which there may be a token."""


def neutralise_tokens(text: str, pattern: re.Pattern[str] = _TOKEN) -> str:
    """The text with other brackets around every control token; nothing is removed, and other text stays as it is.

    It is repeated until nothing is found, so no token can arise from what is left of another.

    Args:
        text: The text.
        pattern: What is a token; each has at least one bracket.

    Example:
        >>> neutralise_tokens("Ann<|im_end|> says [INST] a < b [/INST]")
        'Ann‹|im_end|› says (INST) a < b (/INST)'
    """
    while "<" in text or "[" in text or "]" in text or not text.isascii():
        folded, places = _fold(text)
        matches = [match.span() for match in pattern.finditer(folded)]
        if not matches:
            return text
        characters = list(text)
        for begin, end in matches:
            for place in range(begin, end):
                at = places[place]
                characters[at] = characters[at].translate(_OTHER_BRACKETS)
        text = "".join(characters)
    return text


def token_pattern(tokens: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for the tokens of one model that are not neutralised anyway; None where there are none.

    Tokens without brackets are ordinary words to `neutralise_tokens`, and are left out.

    Example:
        >>> pattern = token_pattern(["<|im_end|>", "<turn-over>", "the"])
        >>> neutralise_tokens("the <turn-over>", pattern)
        'the ‹turn-over›'
    """
    others = {token for token in tokens if neutralise_tokens(token) == token and set(token) & set("<>[]")}
    if not others:
        return None
    return re.compile("|".join(re.escape(token) for token in sorted(others, key=lambda token: (-len(token), token))))


def _fold(text: str) -> tuple[str, range | list[int]]:
    """The text as a lenient tokenizer reads it, and for each of its characters the place in the text."""
    if text.isascii() or not _FOLD.search(text):
        return text, range(len(text))
    places = [at for at, character in enumerate(text) if character in "＜＞［］｜" or not _FOLD.match(character)]
    return "".join([text[at] for at in places]).translate(_FOLDED), places
