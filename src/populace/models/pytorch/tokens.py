"""The tokenizer and the chat template of a model, from a GGUF file or from a folder in the format of transformers."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from populace.base.control_tokens import neutralise_tokens, token_pattern
from populace.base.documents import DocumentError, read_json, read_text
from populace.base.errors import ModelFileError
from populace.models.base import Request
from populace.models.gguf_header import read_fields
from populace.models.vocabulary import SPECIAL_TYPES

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SPLITS: dict[str, str | None] = {
    "qwen2": _WORDS % r"\p{N}",
    "llama-bpe": _WORDS % r"\p{N}{1,3}",
    "smollm": None,
}
"""How a text is cut into words, by the name in a GGUF file; None cuts every digit off and the rest as GPT-2 does."""
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<|eom_id|>", "<|end|>", "</s>")
"""Tokens that end a reply, whatever the file says."""
_ALSO_ENDS = ("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
"""Tokens that llama.cpp takes for the end as well."""


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
        texts = [self._text(request) for request in requests]
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
        if roles not in self._frames:
            self._frames[roles] = self._frame(roles)
        frame = self._frames[roles]
        texts = [self._neutral(text) for _, text in request.messages]
        if frame is None or any(text != text.strip() for text in texts):
            return self._render(tuple(zip(roles, texts, strict=True))) + request.lead
        pieces = [piece for pair in zip(frame, [*texts, request.lead], strict=True) for piece in pair]
        return "".join(pieces)

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
    if kind != "gpt2" or cut not in _SPLITS:
        raise ModelFileError(
            f"{path} has a tokenizer of the kind {kind!r} ({cut!r}), which is not known here.",
            f"Name the folder of the model in the format of transformers, or use --model embedded:{path}",
        )
    names = fields["tokens"]
    merges = [tuple(pair.split(" ")) for pair in fields["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges))
    split = _SPLITS[cut]
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
