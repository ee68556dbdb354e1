"""Prompts in columns have the tokens of the whole texts, and are put together in the same way in any order."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from populace.models.base import Request
from populace.models.pytorch.batches import batch_ends, scored_batches
from populace.models.pytorch.token_rows import TokenRows
from populace.models.pytorch.tokens import ChatTokenizer
from populace.models.pytorch.words import SPLITS, cut_text, cuts_at_spaces, shared_ending
from support.tiny_models import SPECIAL, tiny_folder

SNIPPETS = (
    *(
        "a",
        "b",
        "The",
        "don't",
        "it's",
        "x'S",
        "'",
        "é",
        "e\u0301",
        "\u0301",
        "ñ",
        "你好",
        "🙂",
        "ﬁ",
        "_",
        "0",
        "12",
        "³",
        "Ⅷ",
    ),
    *(
        " ",
        " ",
        " ",
        "  ",
        "   ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\u00a0",
        "\u2003",
        "\u3000",
        "\x1c",
        "\x85",
        "\u200b",
        "\0",
    ),
    *(".", ",", "?!", "(", ")", "-", "...", "$", "/", " .", " (", ". ", ", ", "\n-", "\n ", " \n", ":\n"),
)


def texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(SNIPPETS, k=rng.randint(1, 30))) for _ in range(count)]


def tokenizer(path: Path, split: str, *, prefix: bool = False) -> ChatTokenizer:
    """A tokenizer that learned from texts of the same kind, so that its tokens reach as far as its words do."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    folder = tiny_folder(path)
    own = Tokenizer(models.BPE())
    first = pre_tokenizers.Digits(individual_digits=True) if SPLITS[split] is None else None
    first = first or pre_tokenizers.Split(Regex(str(SPLITS[split])), "isolated")
    words = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=SPLITS[split] is None)
    own.pre_tokenizer = pre_tokenizers.Sequence([first, words])
    if split == "qwen2":
        own.normalizer = normalizers.NFC()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, min_frequency=2, initial_alphabet=alphabet, show_progress=False)
    own.train_from_iterator(texts(400, 1), trainer)
    own.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    own.save(str(folder / "tokenizer.json"))
    return ChatTokenizer(folder)


def requests(count: int, seed: int = 2) -> list[Request]:
    rng = random.Random(seed)
    systems, users = texts(3, seed + 1), texts(count, seed + 2)
    return [
        Request((("system", rng.choice(systems)), ("user", user)), rng.choice(("", "Answer:", " I")), top=5)
        for user in users
    ]


def every(rows: TokenRows) -> tuple[np.ndarray, np.ndarray, list[tuple[str, ...]]]:
    return np.arange(len(rows)), np.full(len(rows), 5), [()] * len(rows)


@pytest.mark.parametrize("split", SPLITS)
def test_words_one_by_one_have_the_tokens_of_the_whole_text(tmp_path: Path, split: str) -> None:
    chat = tokenizer(tmp_path / "m", split)
    asked = [*requests(300), *(Request((("user", text.strip()),), "Answer:", top=5) for text in texts(300, 9))]
    asked.append(Request((("user", "One two"), ("assistant", "three four"), ("user", "five six"))))
    rows = chat.rows(asked)
    assert chat._words is not None, "the words are no longer read one by one"
    assert len(rows.beginnings) > 3
    whole = [chat.encode(chat._text(request)) for request in asked]
    assert [rows.row(index) for index in range(len(rows))] == whole
    assert rows.lengths.tolist() == [len(tokens) for tokens in whole]


@pytest.mark.parametrize("split", SPLITS)
def test_texts_with_a_shared_ending_have_the_tokens_of_the_whole_text(tmp_path: Path, split: str) -> None:
    chat = tokenizer(tmp_path / "m", split)
    systems = (("system", "You are Ann."),)
    for seed, ending in enumerate(("The end", " a", "\n\nWhich  one? ", " ", "12 3\n 4 'S x", *texts(40, 11))):
        beginnings = texts(40, seed)
        for own in (beginnings, [text.strip() for text in beginnings]):
            asked = [Request((*systems, ("user", f"{text}{ending}".strip())), "Answer:", top=5) for text in own]
            rows = chat.rows(asked)
            assert chat._words is not None, "the words are no longer read one by one"
            whole = [chat.encode(chat._text(request)) for request in asked]
            assert [rows.row(index) for index in range(len(rows))] == whole, repr(ending)


def test_a_shared_ending_with_the_mark_of_a_word_is_not_read_as_that_mark(tmp_path: Path) -> None:
    chat = tokenizer(tmp_path / "m", "qwen2")
    asked = [Request((("user", f"Person {number} says \0abc"),), "Answer:", top=5) for number in range(40)]
    rows = chat.rows(asked)
    assert chat._words is not None, "the words are no longer read one by one"
    assert [rows.row(index) for index in range(40)] == [chat.encode(chat._text(request)) for request in asked]


def test_a_shared_ending_begins_where_every_text_is_cut() -> None:
    assert shared_ending(["a b. Which one?", "c. Which one?"] * 40) == " Which one?"
    assert shared_ending([*["a b. Which one?"] * 500, "c Which one?"]) == " one?"
    assert shared_ending(["a  b c", "d  b c"]) == " c"
    assert shared_ending(["a\n b", "a\n b"]) == ""
    assert shared_ending(["same text", "same text"]) == " text"
    assert shared_ending(["a", "b"]) == ""


def test_a_text_is_cut_before_a_single_space_between_two_words_alone() -> None:
    assert cut_text("You are  Ann,\n number 5. x") == ["\0You", "are  Ann,\n number", "5.", "x"]
    assert cut_text(" a ") == ["\0 a "]


def test_a_tokenizer_that_is_not_known_to_read_words_one_by_one_reads_texts_as_a_whole(tmp_path: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    chat = tokenizer(tmp_path / "m", "smollm", prefix=True)
    assert chat._words is None
    asked = requests(20)
    assert chat.rows(asked).own.lengths.tolist() == [len(tokens) for tokens in chat.prompts(asked)]
    spaced = Tokenizer(models.BPE())
    spaced.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert cuts_at_spaces(spaced)
    spaced.add_tokens([AddedToken("New York")])
    assert not cuts_at_spaces(spaced)
    spaced.pre_tokenizer = pre_tokenizers.Metaspace()
    assert not cuts_at_spaces(spaced)


def test_batches_do_not_depend_on_the_order_of_the_requests_and_hold_each_once(tmp_path: Path) -> None:
    chat = tokenizer(tmp_path / "m", "qwen2")
    asked = list(dict.fromkeys(requests(120)))
    shuffled = random.Random(0).sample(asked, len(asked))

    def batches(order: list[Request]) -> list[list[Request]]:
        rows = chat.rows(order)
        return [[order[n] for n in each.numbers] for each in scored_batches(rows, *every(rows), 0, 500, 20)]

    found = batches(asked)
    assert found == batches(shuffled)
    assert len(found) > 3
    assert sorted(map(hash, (each for batch in found for each in batch))) == sorted(map(hash, asked))


def test_many_prompts_with_one_beginning_have_batches_of_their_own(tmp_path: Path) -> None:
    chat = tokenizer(tmp_path / "m", "llama-bpe")
    many = [Request((("system", "The don't ..."), ("user", f"a 12 b ( {n} The" * 30)), top=5) for n in range(80)]
    rows = chat.rows([*many, *requests(5)])
    first, *others = scored_batches(rows, *every(rows), 0, 10**6, 10**5)
    assert {*first.numbers} == set(range(80))
    assert first.shared >= len(rows.beginnings[int(rows.beginning[0])])
    assert len(others) == 1


@pytest.mark.parametrize(("most", "launch"), [(300, 1), (1000, 100), (5000, 400), (10, 5)])
def test_batches_keep_to_the_limit_and_cost_no_more_than_filling_them_one_by_one(most: int, launch: int) -> None:
    for seed in range(20):
        sizes = np.sort(np.random.default_rng(seed).integers(5, 5 + 3 * seed + 1, 40 * seed + 1))

        def cost(ends: list[int], sizes: np.ndarray = sizes) -> int:
            return sum((end - begin) * int(sizes[end - 1]) + launch for begin, end in itertools.pairwise([0, *ends]))

        ends, greedy, begin = batch_ends(sizes, most, launch), [], 0
        while begin < len(sizes):
            fits = np.arange(1, len(sizes) - begin + 1) * sizes[begin:] <= most
            begin += max(1, int(fits.sum()))
            greedy.append(begin)
        assert ends[-1] == len(sizes)
        assert all(
            end - begin == 1 or (end - begin) * sizes[end - 1] <= most for begin, end in itertools.pairwise([0, *ends])
        )
        assert cost(ends) <= cost(greedy) + launch


def test_a_few_longer_prompts_have_no_batch_of_their_own_where_launching_takes_longer() -> None:
    sizes = np.sort(np.r_[np.full(3900, 40), np.full(196, 44)])
    assert batch_ends(sizes, 245_760, 16_384) == [4096]
    assert batch_ends(sizes, 245_760, 1_000) == [3900, 4096]
    assert batch_ends(np.full(4096, 44), 175_000, 16_384) == [2048, 4096]


def test_a_table_and_the_common_length_say_what_the_rows_say(tmp_path: Path) -> None:
    rows: TokenRows = tokenizer(tmp_path / "m", "smollm").rows(requests(40))
    regular = np.flatnonzero(rows.beginning)
    for which in (np.arange(40), regular, np.flatnonzero(rows.beginning == rows.beginning[regular[0]])):
        lists = [rows.row(index) for index in which]
        common = rows.common_length(which)
        assert (common > 0) == (0 not in rows.beginning[which])
        assert common < min(map(len, lists))
        assert len({tuple(each[:common]) for each in lists}) == 1
        for skip in (0, common):
            table = rows.table(which, skip)
            assert all(row[: len(each) - skip].tolist() == each[skip:] for row, each in zip(table, lists, strict=True))
