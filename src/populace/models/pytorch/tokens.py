"""The tokenizer and the chat template of a model, from a GGUF file or from a folder in the format of transformers."""

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, repeat
from pathlib import Path
from typing import Any

import numpy as np

from populace.base.control_tokens import neutralise_tokens, token_pattern
from populace.base.documents import DocumentError, read_json, read_text
from populace.base.errors import ModelFileError
from populace.models.base import Request
from populace.models.gguf_header import read_fields
from populace.models.pytorch.token_rows import TokenLists, TokenRows
from populace.models.pytorch.words import SPLITS, WHOLE, WordTokens, cut_text, cuts_at_spaces, shared_ending
from populace.models.vocabulary import SPECIAL_TYPES

_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<|eom_id|>", "<|end|>", "</s>")
"""Tokens that end a reply, whatever the file says."""
_ALSO_ENDS = ("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
"""Tokens that llama.cpp takes for the end as well."""
_SAMPLE = 16
"""Of how many requests it is seen whether they have the form of the next one."""
_MANY = 32
"""From how many requests of one form on, it is worth looking for what their texts end with in common."""


@dataclass(frozen=True)
class _Form:
    """What prompts share that differ in the text of their last message alone.

    Attributes:
        number: The number of the beginning; 0 for none, and such a prompt is read as a whole.
        beginning: The words up to the last special token before the text of the last message.
        before: What stands between that token and the text.
        after: What stands between the text and the next special token.
        ending: That token and all that follows, up to the end of the lead.
    """

    number: int
    beginning: list[str]
    before: str = ""
    after: str = ""
    ending: str = ""


_WITHOUT = _Form(0, [])


def _frame_key(request: Request) -> tuple[Any, ...]:
    """What requests of one form have in common."""
    messages = request[0]
    return messages[:-1], messages[-1][0], request[1]


def _groups(requests: Sequence[Request]) -> Iterator[tuple[tuple[Any, ...], Sequence[Request]]]:
    """Requests with what they have in common; together where many of one form follow each other."""
    places = range(0, len(requests) - 1, max(1, len(requests) // _SAMPLE))
    alike = sum(_frame_key(requests[place]) == _frame_key(requests[place + 1]) for place in places)
    if alike <= len(places) // 2:
        return zip(map(_frame_key, requests), zip(requests, strict=True), strict=True)
    return ((key, list(group)) for key, group in groupby(requests, _frame_key))


class ChatTokenizer:
    """Turns conversations into tokens, and tokens into text.

    Args:
        path: A GGUF file, or a folder with `tokenizer.json`.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer, template, special, names = (_from_gguf if path.is_file() else _from_folder)(path)
        self._template = _compiled(path, template)
        self._names = names
        self._pattern = token_pattern(special)
        cuts = "|".join(re.escape(token) for token in sorted(special, key=lambda token: (-len(token), token)))
        self._cut = re.compile(f"({cuts})") if cuts else None
        self._words = WordTokens(self._tokenizer) if cuts and cuts_at_spaces(self._tokenizer) else None
        self._frames: dict[tuple[str, ...], list[str] | None] = {}
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        ends = {*_ENDS, *_ALSO_ENDS, names.get("eos_token", "")}
        self.ends = tuple(sorted(vocabulary[name] for name in ends if name in vocabulary))
        self.end: int = vocabulary.get(names.get("eos_token", ""), self.ends[0] if self.ends else 0)
        count = max(vocabulary.values()) + 1
        self.texts: list[str] = self._tokenizer.decode_batch([[i] for i in range(count)], skip_special_tokens=False)

    @property
    def backend(self) -> Any:
        """The tokenizer itself, as the library tokenizers has it."""
        return self._tokenizer

    def prompts(self, requests: Sequence[Request]) -> list[list[int]]:
        """The tokens of each request, from the beginning of the conversation to the end of its lead."""
        rows = self.rows(requests)
        return [rows.row(index) for index in range(len(rows))]

    def rows(self, requests: Sequence[Request]) -> TokenRows:
        """The same in columns; a beginning is what stands before the text of the last message."""
        table = self._words
        if table is None:
            lists = TokenLists.of(self._encoded_texts([self._text(request) for request in requests]))
            return TokenRows(TokenLists.of([[]]), np.zeros(len(lists), np.int64), lists)
        table.make_room()
        forms: dict[tuple[Any, ...], _Form] = {}
        beginnings, number = [_WITHOUT.beginning], []
        words: list[str] = []
        ends: list[int] = []
        for key, same in _groups(requests):
            form = forms.get(key)
            if form is None:
                form = forms[key] = self._form(same[0], len(beginnings))
                if form.number:
                    beginnings.append(form.beginning)
            if len(same) >= _MANY and self._add_alike(same, form, words, ends):
                number += [form.number] * len(same)
                continue
            for request in same:
                text = request[0][-1][1]
                if self._pattern is not None:
                    text = self._neutral(text)
                if form.number and text == text.strip() and WHOLE not in text:
                    words += f"{form.before}{text}{form.after}".split(" ")
                    words.append(form.ending)
                    number.append(form.number)
                else:
                    words += self._cut_words(self._text(request))
                    number.append(0)
                ends.append(len(words))
        parts = np.cumsum([len(each) for each in beginnings])
        shared = table.lists(list(chain.from_iterable(beginnings)), parts)
        own = table.lists(words, np.array(ends, np.int64))
        rows = TokenRows(shared, np.array(number, np.int64), own)
        # Some are read as a whole as well, to be sure.
        for index in {0, int(np.argmax(rows.lengths))} if requests else ():
            if rows.row(index) != self.encode(self._text(requests[index])):
                self._words = None
                return self.rows(requests)
        return rows

    def _add_alike(self, requests: Sequence[Request], form: _Form, words: list[str], ends: list[int]) -> bool:
        """Add the words of many requests of one form at once; False, with nothing added, where that is not possible.

        What their texts end with in common is one word.
        """
        if not form.number:
            return False
        texts = [request[0][-1][1] for request in requests]
        if self._pattern is not None:
            texts = list(map(self._neutral, texts))
        shared = shared_ending(texts)
        ending = f"{shared[1:]}{form.after}{form.ending.removeprefix(WHOLE)}"
        if not shared or WHOLE in shared or any(map(operator.ne, map(str.strip, texts), texts)):
            return False
        own = [text[: -len(shared)] for text in texts]
        whole = f" {WHOLE} {form.before}".join(own)
        if whole.count(WHOLE) != (1 + form.before.count(WHOLE)) * (len(texts) - 1):
            return False
        first = len(words)
        words += f"{form.before}{whole} {WHOLE}".split(" ")
        sizes = np.fromiter(map(str.count, own, repeat(" ")), np.int64, len(own)) + form.before.count(" ") + 2
        places = (np.cumsum(sizes) + first).tolist()
        for place in places:
            words[place - 1] = ending
        ends += places
        return True

    def _form(self, request: Request, number: int) -> _Form:
        earlier = [self._neutral(text) for _, text in request.messages[:-1]]
        frame = self._frame_of(tuple(role for role, _ in request.messages))
        if self._cut is None or frame is None or any(text != text.strip() for text in earlier) or WHOLE in request.lead:
            return _WITHOUT
        *_, token, before = ["", *self._cut.split(frame[-2])]
        after, *rest = self._cut.split(frame[-1] + request.lead)
        if not token:
            return _WITHOUT
        pieces = [piece for pair in zip(frame, earlier, strict=False) for piece in pair]
        beginning = "".join([*pieces, frame[-2].removesuffix(before)])
        return _Form(number, self._cut_words(beginning), WHOLE + before, after, WHOLE + "".join(rest))

    def _cut_words(self, text: str) -> list[str]:
        """The words of a text with special tokens, each of which is a word."""
        if self._cut is None or WHOLE in text:
            return [WHOLE + text]
        pieces = self._cut.split(text)
        return [word for piece in pieces if piece for word in cut_text(piece)]

    def _encoded_texts(self, texts: Sequence[str]) -> list[list[int]]:
        if self._cut is None:
            return self._encoded(texts)
        # A special token ends what stands before it, so the pieces between them are encoded once each.
        pieces = [self._cut.split(text) for text in texts]
        distinct = list(dict.fromkeys(piece for row in pieces for piece in row))
        tokens = dict(zip(distinct, self._encoded(distinct), strict=True))
        prompts = [list(chain.from_iterable([tokens[piece] for piece in row])) for row in pieces]
        if prompts[:1] != self._encoded(texts[:1]):  # A tokenizer that reads a piece by what stands around it.
            self._cut = None
            return self._encoded(texts)
        return prompts

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def _text(self, request: Request) -> str:
        roles = tuple(role for role, _ in request.messages)
        frame = self._frame_of(roles)
        texts = [self._neutral(text) for _, text in request.messages]
        if frame is None or any(text != text.strip() for text in texts):
            return self._render(tuple(zip(roles, texts, strict=True))) + request.lead
        pieces = [piece for pair in zip(frame, [*texts, request.lead], strict=True) for piece in pair]
        return "".join(pieces)

    def _frame_of(self, roles: tuple[str, ...]) -> list[str] | None:
        if roles not in self._frames:
            self._frames[roles] = self._frame(roles)
        return self._frames[roles]

    def _frame(self, roles: tuple[str, ...]) -> list[str] | None:
        """What the template writes around the texts of messages with these roles; None where that depends on them.

        Templates are slow, and what they write around the texts is the same for all conversations of one form.
        """
        marks = [f"mark{index}kram" for index in range(len(roles))]
        text = self._render(tuple(zip(roles, marks, strict=True)))
        frame = re.split("|".join(marks), text)
        others = [f"Another text, {index}\nof two lines." for index in range(len(roles))]
        found = self._render(tuple(zip(roles, others, strict=True)))
        filled = "".join(piece for pair in zip(frame, [*others, ""], strict=False) for piece in pair)
        return frame if len(frame) == len(roles) + 1 and filled == found else None

    def _render(self, messages: tuple[tuple[str, str], ...]) -> str:
        import jinja2

        turns = [{"role": role, "content": text} for role, text in messages]
        try:
            text: str = self._template.render(messages=turns, add_generation_prompt=True, **self._names)
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"the chat template of the model refuses a conversation: {error}.",
                "Name a model for chats, whose template takes a system message.",
            ) from error
        return text

    def _neutral(self, text: str) -> str:
        """The text without special tokens that only this model knows; those of known forms are gone already."""
        return text if self._pattern is None else neutralise_tokens(text, self._pattern)


def _compiled(path: Path, template: str | None) -> Any:
    import jinja2.sandbox

    if not template:
        raise ModelFileError(f"{path} has no chat template.", "Name a model for chats (often called instruct).")

    def refuse(reason: str) -> None:
        raise jinja2.TemplateError(reason)

    # The template is foreign: it runs in jinja's sandbox, where it can reach nothing but the messages.
    sandbox = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    sandbox.globals["raise_exception"] = refuse
    try:
        return sandbox.from_string(template)
    except jinja2.TemplateError as error:
        raise ModelFileError(
            f"the chat template of {path} cannot be read: {error}.", "Fetch the file again."
        ) from error


_Parts = tuple[Any, str | None, list[str], dict[str, str]]


def _from_gguf(path: Path) -> _Parts:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    keys = ("model", "pre", "tokens", "token_type", "merges", "eos_token_id", "bos_token_id")
    wanted = {f"tokenizer.ggml.{key}" for key in keys} | {"tokenizer.chat_template"}
    fields = {name.rpartition(".")[2]: value for name, value in read_fields(path, wanted).items()}
    kind, cut = fields.get("model"), fields.get("pre")
    if kind != "gpt2" or cut not in SPLITS:
        raise ModelFileError(
            f"{path} has a tokenizer of the kind {kind!r} ({cut!r}), which is not known here.",
            f"Name the folder of the model in the format of transformers, or use --model embedded:{path}",
        )
    names = fields["tokens"]
    merges = [tuple(pair.split(" ")) for pair in fields["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges))
    split = SPLITS[cut]
    first = (
        pre_tokenizers.Digits(individual_digits=True)
        if split is None
        else pre_tokenizers.Split(Regex(split), "isolated")
    )
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, words])
    tokenizer.decoder = decoders.ByteLevel()
    special = [name for name, kind in zip(names, fields["token_type"], strict=True) if kind in SPECIAL_TYPES]
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    ids = {key: fields.get(f"{key}_id") for key in ("eos_token", "bos_token")}
    named = {key: names[place] for key, place in ids.items() if place is not None and place < len(names)}
    return tokenizer, fields.get("chat_template"), special, named


def _from_folder(path: Path) -> _Parts:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(read_text(path / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        settings_path = path / "tokenizer_config.json"
        settings = read_json(settings_path) if settings_path.is_file() else {}
        template_path = path / "chat_template.jinja"
        template = read_text(template_path) if template_path.is_file() else settings.get("chat_template")
    except (OSError, DocumentError) as error:
        raise ModelFileError(
            f"the tokenizer in {path} cannot be read: {error}.",
            "Name a folder with tokenizer.json and tokenizer_config.json, as transformers saves them.",
        ) from error
    except Exception as error:
        raise ModelFileError(f"the tokenizer in {path} is damaged: {error}.", "Fetch the folder again.") from error
    if isinstance(template, list):
        named_templates = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named_templates.get("default")
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    names = {}
    for key in ("eos_token", "bos_token"):
        value = settings.get(key)
        value = value.get("content") if isinstance(value, dict) else value
        if isinstance(value, str):
            names[key] = value
    return tokenizer, template, special, names
