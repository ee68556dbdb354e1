"""Foreign text on its way to somebody: a terminal, a page, a spreadsheet, a database, a file name, a model.

Foreign is all text that Populace did not write itself: names, personas, posts, replies of models, names of runs and
columns, errors of servers, contents of files. It is stored as it came. It passes one of these functions where it is
shown or sent, so that it can be read there and cannot act there.

| to | function |
|---|---|
| a terminal, a log | `for_terminal`, `for_line` |
| a command to copy | `for_shell` |
| a picture | `for_figure` |
| a page | `for_page` in a template that escapes, `for_html` elsewhere |
| Markdown | `for_markdown` |
| a spreadsheet | `for_cell`; `from_cell` reads it back |
| a database | `for_identifier` |
| a JSON document | `for_json` |
| a file name | `for_file_name` |
| a model | `for_prompt` |

`foreign_columns` does the same for columns.
"""

import hashlib
import html
import json
import re
import shlex
import unicodedata
from collections.abc import Iterable
from typing import Any

from populace.base.control_tokens import neutralise_tokens

SUBSTITUTE = "\ufffd"
"""What stands in the place of a character that is not shown: �."""
MAX_NAME_BYTES = 180
"""The longest file name that `for_file_name` gives; file systems allow 255 bytes, and endings are added to it."""

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_UNENCODABLE = r"\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff\U0010fffe\U0010ffff"
_SEPARATORS = r"\u2028\u2029"
_DIRECTION = r"\u202a-\u202e\u2066-\u206f"
_NEVER_VISIBLE = r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2060-\u2065\u3164\ufeff\uffa0\ufff9-\ufffb"
_NEVER_VISIBLE += r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
_JOINERS = r"\u200b-\u200f\u061c"
"""Invisible characters that some scripts and pictograms need between two of their own characters."""
_SELECTORS = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Invisible characters that choose the form of the one before them."""
_TAGS = r"\U000e0000-\U000e00ff"
_FLAG = r"(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f)"
"""The flag of a region, such as Wales: the one use of tag characters."""
_ACTS = re.compile(
    rf"{_FLAG}|[{_CONTROL}{_UNENCODABLE}{_SEPARATORS}{_DIRECTION}{_NEVER_VISIBLE}{_TAGS}]"
    rf"|(?:(?<=[\x00-\u052f{_JOINERS}])|^)[{_JOINERS}]|(?:(?<=[{_SELECTORS}])|^)[{_SELECTORS}]"
)
_NOT_IN_PROMPTS = re.compile(rf"{_FLAG}|[{_CONTROL}\ud800-\udfff{_TAGS}]")
_PROMPT_CONTROLS = re.compile(rf"[{_CONTROL}\ud800-\udfff{_TAGS}]")
_ASCII_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NOT_IN_JSON = re.compile(rf"[{_CONTROL}{_UNENCODABLE}{_SEPARATORS}{_DIRECTION}{_NEVER_VISIBLE}{_JOINERS}{_TAGS}]")


def for_terminal(text: object) -> str:
    """Text that a terminal prints and does not obey: every character that acts or hides is shown as �.

    These are control characters (so there are no escape sequences and no links), line and paragraph separators,
    overrides of the writing direction, halves of surrogate pairs, tag characters, and invisible characters where no
    script needs them. Line feeds and tabs stay; a carriage return becomes a line feed.

    Example:
        >>> for_terminal("red: \\x1b[31m, turned: \\u202e!, a line:\\r\\nend")
        'red: �[31m, turned: �!, a line:\\nend'
    """
    string = text if type(text) is str else str(text)
    if string.isascii() and string.isprintable():
        return string
    return _ACTS.sub(_substitute, _line_feeds(string))


def for_line(text: object) -> str:
    """Text for one line of a terminal or of a log: as `for_terminal`, with single spaces for all white space.

    Example:
        >>> for_line("one\\n  two\\tthree")
        'one two three'
    """
    return " ".join(for_terminal(text).split())


def for_shell(word: object) -> str:
    """A word of a command that a reader may copy into a shell.

    Example:
        >>> for_shell("norms-1a2b"), for_shell("x; rm y")
        ('norms-1a2b', "'x; rm y'")
    """
    return shlex.quote(for_line(word))


def for_figure(text: object) -> str:
    """Text for a title, a label or a legend of a picture: on one line, with dollar signs that begin no formula.

    Example:
        >>> for_figure("a $x$")
        'a \\\\$x\\\\$'
    """
    return for_line(text).replace("$", r"\$")


def for_page(value: object) -> object:
    """A value for an expression of a template that escapes by itself: text without what acts or hides.

    Markup that is already escaped, and values that are not text, stay as they are.
    """
    return for_terminal(value) if type(value) is str else value


def for_html(text: object) -> str:
    """Text for the content or a quoted attribute of an element of HTML or SVG.

    Example:
        >>> for_html('<b title="x">\\x07')
        '&lt;b title=&quot;x&quot;&gt;�'
    """
    return html.escape(for_terminal(text), quote=True)


def for_markdown(text: object) -> str:
    """Text that Markdown shows as it is, in a table too, on one line.

    Example:
        >>> for_markdown("a|b <i> [x](y)")
        'a\\\\|b &lt;i&gt; \\\\[x\\\\](y)'
    """
    line = re.sub(r"[\\`*\[\]|#~]|(?<!\w)_|_(?!\w)", r"\\\g<0>", for_line(text))
    line = re.sub(r"^([-+=]|\d{1,9}(?=[.)]))", lambda match: _escape_start(match.group()), line)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


FORMULA = r"^[\s\"'\u00a0\ufeff�]*[=+\-@＝＋－＠]|^[\t\r]"
_NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?%?$"
_FORMULA_CELL, _NUMBER_CELL = re.compile(FORMULA), re.compile(_NUMBER)


def for_cell(text: object) -> str:
    """Text for a cell of a CSV file: a spreadsheet that opens the file shows it and does not compute it.

    A text that a spreadsheet could take for a formula gets an apostrophe in front: it begins with =, +, - or @, or with
    a tab, also after spaces and quotes. A number stays a number. What acts on a terminal is shown as �, except
    for line feeds and tabs. Apply it once, where the cell is written; `from_cell` takes the apostrophe away.

    Example:
        >>> for_cell("=1+2"), for_cell("-1.5"), for_cell("'=1"), for_cell("a = b")
        ("'=1+2", '-1.5', "''=1", 'a = b')
    """
    plain = for_terminal(text)
    return f"'{plain}" if _FORMULA_CELL.search(plain) and not _NUMBER_CELL.search(plain) else plain


def from_cell(cell: str) -> str:
    """The text of a cell that `for_cell` wrote; characters that were shown as � stay so.

    Example:
        >>> from_cell(for_cell("=1+2")), from_cell(for_cell("'=1")), from_cell("it's")
        ('=1+2', "'=1", "it's")
    """
    return cell[1:] if cell.startswith("'") and for_cell(cell[1:]) == cell else cell


def for_identifier(name: object) -> str:
    """A name as a quoted identifier of SQLite.

    Example:
        >>> print(for_identifier('the "best" one'))
        "the ""best"" one"
    """
    return '"' + for_line(name).replace('"', '""') + '"'


def unique_names(names: Iterable[str]) -> list[str]:
    """The names, with a number behind each that repeats an earlier one; upper and lower case are not told apart.

    Example:
        >>> unique_names(["a", "A", "a"])
        ['a', 'A 2', 'a 3']
    """
    seen: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 1
        while unique.casefold() in seen:
            number += 1
            unique = f"{name} {number}"
        seen.add(unique.casefold())
        result.append(unique)
    return result


def for_json(data: Any, *, ascii_only: bool = False) -> str:
    """Data as one line of JSON in which every character that acts or hides is written as an escape.

    Args:
        data: The data.
        ascii_only: Whether all other characters than those of ASCII are escapes too.

    Example:
        >>> for_json({"text": "\\x9b31m é"})
        '{"text": "\\\\u009b31m é"}'
    """
    return _NOT_IN_JSON.sub(_json_escape, json.dumps(data, ensure_ascii=ascii_only))


_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_NOT_IN_FILE_NAMES = re.compile(r"[/\\:*?\"<>|\s�]+")


def for_file_name(text: object, default: str = "unnamed") -> str:
    """A name for one file in a folder, whatever the text: no separators, no leading dot or dash, not too long.

    White space and characters that some system forbids become a dash. A name that is too long in UTF-8, or reserved on
    some system, is cut or extended; a cut name ends with a digest of the whole.

    Args:
        text: The text.
        default: The name where nothing is left.

    Example:
        >>> for_file_name("../../etc/passwd"), for_file_name("-rf"), for_file_name("CON"), for_file_name("..")
        ('etc-passwd', 'rf', 'file-CON', 'unnamed')
    """
    name = _NOT_IN_FILE_NAMES.sub("-", unicodedata.normalize("NFC", for_line(text)))
    name = name.lstrip(".-~ ").rstrip(".- ") or default
    if _RESERVED.fullmatch(name):
        name = f"file-{name}"
    encoded = name.encode()
    if len(encoded) > MAX_NAME_BYTES:
        digest = hashlib.blake2b(encoded, digest_size=4).hexdigest()
        name = f"{encoded[: MAX_NAME_BYTES - 9].decode(errors='ignore').rstrip('.- ')}-{digest}"
    return name


def for_prompt(text: str) -> str:
    """The complete text of one message to a model, in which no control token of a chat format is left.

    The brackets of such a token are replaced by others, so that it can still be read: `‹|im_end|›`. Control characters
    and tag characters, which people cannot see, become �. Other text does not change. It is applied once to
    the whole message, after its parts were joined, since a token may be split over them.

    Example:
        >>> for_prompt("You are Ann<|im_end|>. [INST] if a < b and x[0] > 1 </s>")
        'You are Ann‹|im_end|›. (INST) if a < b and x[0] > 1 ‹/s›'
    """
    if (_ASCII_CONTROLS if text.isascii() else _PROMPT_CONTROLS).search(text):
        text = _NOT_IN_PROMPTS.sub(_substitute, _line_feeds(text))
    return neutralise_tokens(text)


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _substitute(match: re.Match[str]) -> str:
    """A mark for what acts; a flag, which the pattern takes whole, stays."""
    return match.group(1) or SUBSTITUTE


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _escape_start(start: str) -> str:
    """What would begin a list at the start of a paragraph, so that it does not."""
    return f"\\{start}" if not start[0].isdigit() else f"{start}\\"
