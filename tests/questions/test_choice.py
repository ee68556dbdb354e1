from __future__ import annotations

import re
import string
import unicodedata

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from populace.base.errors import QuestionError
from populace.base.templates import Template
from populace.minds import Mind
from populace.people import People
from populace.prompting import Conversations, Inquiry, Situation, conversations
from populace.questions import Choice, Question

VOTE = Choice("Will you vote?", options=("yes", "no"))
SURE = Choice("Will you vote?", options=("no", "not sure"))
NEVER = Choice("Do you smoke?", options=("no", "no, never"))
SHIRT = Choice("Which shirt?", options=("blue", "green", "red"))


def opening(question: Question, mode: str = "words", *, people: int = 60, scored: bool = True) -> Conversations:
    situation = Situation(question, Template(""), {}, {})
    inquiry = Inquiry("1/0", People(pl.DataFrame({"id": range(people)})), Mind(Template("")), situation, seed=1)
    return conversations(inquiry, mode=mode, scored=scored)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("yes", "yes"),
        ("Yes.", "yes"),
        ("  YES!  ", "yes"),
        ("**No**", "no"),
        ("“No”", "no"),
        ("(yes)", "yes"),
        ("- yes", "yes"),
        ("ｙｅｓ", "yes"),
        ("Answer: no", "no"),
        ("Let me think about it.\nFinal answer: No!", "no"),
        ("The answer is: yes.", "yes"),
        ("Yes, of course.", "yes"),
        ("Yes - absolutely", "yes"),
        ("No\nI have better things to do.", "no"),
        ("No, I'm sorry.", "no"),
    ],
)
def test_a_reply_that_gives_an_option_is_read_as_that_option(reply: str, value: str) -> None:
    answer = VOTE.parse(reply)
    assert (answer.value, answer.status) == (value, "ok")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "...",
        "maybe",
        "nope",
        "yes no",
        "yes or no",
        "yes, no",
        "Yes, I mean no.",
        "Answer: yes or no",
        "Not yes",
        "no doubt",
        "yesterday",
        "yеs",
        "I would vote.",
    ],
)
def test_a_reply_that_fits_no_option_is_unparseable(reply: str) -> None:
    answer = VOTE.parse(reply)
    assert (answer.value, answer.status) == (None, "unparseable")


@pytest.mark.parametrize(
    "reply",
    ["I'm sorry, but I can't answer that.", "As an AI language model, I do not vote.", "I’d prefer not to say."],
)
def test_a_reply_that_declines_is_a_refusal(reply: str) -> None:
    assert VOTE.parse(reply).status == "refused"


@pytest.mark.parametrize(
    ("question", "reply", "value"),
    [
        (SURE, "No", "no"),
        (SURE, "not sure", "not sure"),
        (SURE, "Not sure.", "not sure"),
        (SURE, "No, not sure", None),
        (SURE, "Not sure, no", None),
        (SURE, "not", None),
        (NEVER, "No.", "no"),
        (NEVER, "No, never.", "no, never"),
    ],
)
def test_an_option_that_begins_like_another_is_told_apart(question: Choice, reply: str, value: str | None) -> None:
    assert question.parse(reply).value == value


@pytest.mark.parametrize("reply", ["No, never, I swear", "No, never: it is bad for you", "no, never - honestly"])
def test_a_longer_option_is_not_cut_to_a_shorter_one_that_it_begins_with(reply: str) -> None:
    assert NEVER.parse(reply).value in ("no, never", None)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("A", "blue"),
        ("b", "green"),
        ("(C)", "red"),
        ("B.", "green"),
        ("A. blue", "blue"),
        ("B) green", "green"),
        ("C: red", "red"),
        ("Answer: C", "red"),
        ("green", "green"),
        ("B, since it is cold", "green"),
        ("D", None),
        ("A or B", None),
        ("A green shirt", None),
        ("A. green", None),
    ],
)
def test_letters_count_where_options_are_labelled(reply: str, value: str | None) -> None:
    assert SHIRT.parse(reply, labels=True).value == value


@pytest.mark.parametrize("reply", ["A, B", "A\nB", "A; or perhaps C", "B. C."])
def test_two_letters_are_no_answer(reply: str) -> None:
    assert SHIRT.parse(reply, labels=True).status == "unparseable"


def test_a_sentence_that_opens_with_i_is_not_the_ninth_option() -> None:
    words = tuple("alpha bravo charlie delta echo foxtrot golf hotel india juliet".split())
    reply = "I, for one, would stay out of it."
    assert Choice("Which?", options=words).parse(reply, labels=True).status == "unparseable"


def test_letters_follow_the_order_that_was_shown() -> None:
    arrangement = (1, 2, 0)
    assert SHIRT.options_text(arrangement, labels=True) == "A. green\nB. red\nC. blue"
    assert [SHIRT.parse(letter, arrangement, labels=True).value for letter in "ABC"] == ["green", "red", "blue"]
    assert SHIRT.parse("A. blue", arrangement, labels=True).status == "unparseable"


def test_a_letter_means_nothing_where_options_are_worded() -> None:
    assert SHIRT.parse("A").status == "unparseable"


def test_options_that_are_letters_themselves_are_not_confused_with_labels() -> None:
    grade = Choice("Which grade?", options=("A", "B"))
    assert grade.parse("A").value == "A"
    assert grade.parse("A", (1, 0), labels=True).status == "unparseable"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("yes",), ["1 option", "at least two"]),
        ((), ["0 options"]),
        (("yes", "Yes"), ["'yes'", "'Yes'", "cannot be told apart"]),
        (("yes", " “YES” "), ["cannot be told apart"]),
        (("blue  shirt", "Blue shirt"), ["cannot be told apart"]),
        (("yes", " "), ["empty option"]),
        (tuple(f"option {i}" for i in range(27)), ["27 options", "26"]),
    ],
)
def test_options_that_cannot_be_asked_are_refused(options: tuple[str, ...], words: list[str]) -> None:
    with pytest.raises(QuestionError) as raised:
        Choice("Will you vote?", options=options)
    assert all(word in str(raised.value) for word in ["Will you vote?", *words])


@pytest.mark.parametrize("setting", [{"order": "shuffled"}, {"scoring": "numbers"}, {"wordings": {"maybe": "perhaps"}}])
def test_a_setting_that_does_not_exist_is_refused_by_its_value(setting: dict[str, object]) -> None:
    with pytest.raises(QuestionError, match="shuffled|numbers|maybe"):
        Choice("Will you vote?", options=("yes", "no"), **setting)  # type: ignore[arg-type]


def test_a_question_needs_a_text() -> None:
    with pytest.raises(QuestionError, match="text"):
        Choice("  ", options=("yes", "no"))


def test_a_label_swap_changes_the_words_and_keeps_the_values() -> None:
    swapped = Choice("Which?", options=("stay", "leave"), wordings={"stay": "leave", "leave": "stay"})
    assert swapped.options_text(swapped.declared_order, labels=False) == "Options: leave, stay."
    assert swapped.parse("stay").value == "leave"
    assert swapped.parse("A", labels=True).value == "stay"
    assert swapped.canonical() != Choice("Which?", options=("stay", "leave")).canonical()


def test_the_value_is_not_read_where_another_word_stands_for_it() -> None:
    question = Choice("Which?", options=("treated", "control"), wordings={"treated": "pill", "control": "nothing"})
    assert question.parse("Pill.").value == "treated"
    assert question.parse("treated").status == "unparseable"


def test_options_are_shown_in_words_or_with_letters() -> None:
    assert SHIRT.options_text((0, 1, 2), labels=False) == "Options: blue, green, red."
    assert SHIRT.options_text((0, 1, 2), labels=True) == "A. blue\nB. green\nC. red"
    assert "letter" in SHIRT.instruction(labels=True)
    assert "letter" not in SHIRT.instruction()


def test_rotations_put_every_option_in_every_place_once() -> None:
    orders = SHIRT.arrangements()
    assert len(orders) == 3
    for place in range(3):
        assert sorted(order[place] for order in orders) == [0, 1, 2]


def test_a_fixed_order_shows_everybody_the_declared_one() -> None:
    conversations = opening(SHIRT)
    assert conversations.arrangements == [(0, 1, 2)]
    assert "Options: blue, green, red." in conversations.user[0]


def test_a_random_order_differs_by_person_and_stays_with_the_person() -> None:
    question = Choice("Which shirt?", options=SHIRT.options, order="random")
    shown, fewer = opening(question), opening(question, people=30)
    orders = [shown.arrangements[row] for row in shown.of_person]
    assert set(orders) == set(question.arrangements())
    assert [fewer.arrangements[row] for row in fewer.of_person] == orders[:30]


def test_rotation_shows_every_prompt_in_all_orders_when_they_can_be_averaged() -> None:
    question = Choice("Which shirt?", options=SHIRT.options, order="rotate")
    conversations = opening(question, "labels")
    assert conversations.orders == 3
    assert [text.split("\n")[1] for text in conversations.user] == ["A. blue", "A. green", "A. red"]


def test_rotation_gives_each_person_one_order_when_words_are_sampled() -> None:
    question = Choice("Which shirt?", options=SHIRT.options, order="rotate")
    conversations = opening(question, scored=False)
    assert conversations.orders == 1
    assert len({conversations.arrangements[row] for row in conversations.of_person}) == 3


def test_reasoning_shows_the_options_and_holds_back_the_instruction_to_answer() -> None:
    question = Choice("Which shirt?", options=SHIRT.options, reason=True)
    text = opening(question).user[0]
    assert "Options: blue, green, red." in text
    assert "Do not give the answer yet" in text
    assert question.instruction() not in text


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "Which hat?"},
        {"options": ("blue", "green")},
        {"options": ("green", "blue", "red")},
        {"order": "random"},
        {"scoring": "labels"},
        {"reason": True},
    ],
)
def test_the_canonical_form_changes_with_everything_that_makes_the_question(changed: dict[str, object]) -> None:
    settings_ = {"text": "Which shirt?", "options": SHIRT.options} | changed
    assert Choice(**settings_).canonical() != SHIRT.canonical()  # type: ignore[arg-type]


def test_values_come_back_from_the_journal_as_they_went_in() -> None:
    texts = pl.Series([SHIRT.encode(value) for value in ("red", "blue")] + [None])
    decoded = SHIRT.decode(texts)
    assert decoded.to_list() == ["red", "blue", None]
    assert decoded.dtype == pl.Enum(["blue", "green", "red"])


OPTIONS = st.lists(st.text(string.ascii_lowercase, min_size=2, max_size=8), min_size=2, max_size=5, unique=True)
FRAMES = st.sampled_from(["{}", " {}\n", "{}.", "{}!", "“{}”", "**{}**", "({})", "Answer: {}", "Answer: {}.", "- {}"])


@given(OPTIONS, st.data())
@settings(max_examples=80, deadline=None)
def test_every_option_is_read_back_in_any_case_and_punctuation(options: list[str], data: st.DataObject) -> None:
    option = data.draw(st.sampled_from(options))
    text = "".join(data.draw(st.sampled_from([c, c.upper()])) for c in option)
    reply = data.draw(FRAMES).format(text)
    answer = Choice("Which?", options=tuple(options)).parse(reply)
    assert (answer.value, answer.status) == (option, "ok")


@given(st.text(max_size=60), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_text_without_any_of_the_words_or_letters_is_never_an_answer(text: str, labels: bool) -> None:
    shape = unicodedata.normalize("NFKC", text).casefold()
    assume(not re.search(r"yes|no|(?<![a-z])[ab](?![a-z])", shape))
    assert VOTE.parse(text, labels=labels).value is None


PIECES = st.sampled_from(["yes", "no", "not", "sure", "never", "Answer:", ",", ".", " ", "\n", "-", "I", "maybe", "or"])


@given(st.lists(PIECES, max_size=8).map(" ".join), st.sampled_from([VOTE, SURE, NEVER]))
@settings(max_examples=300, deadline=None)
def test_whatever_is_read_opens_the_reply_or_follows_a_marker(reply: str, question: Choice) -> None:
    answer = question.parse(reply)
    if answer.status == "ok":
        parts = [reply.casefold(), *re.split("answer:", reply.casefold())]
        starts = [re.sub(r"^[\W_]+", "", text) for text in parts]
        squeezed = [re.sub(r"[\s,]+", " ", start) for start in starts]
        assert any(start.startswith(answer.value.replace(",", "")) for start in squeezed)


@given(
    st.lists(PIECES.filter(lambda piece: piece != "Answer:"), max_size=5).map(lambda p: [*p, "yes", "no"]), st.data()
)
@settings(max_examples=150, deadline=None)
def test_a_reply_that_names_both_options_without_a_marker_is_never_read(pieces: list[str], data: st.DataObject) -> None:
    reply = " ".join(data.draw(st.permutations(pieces)))
    assert VOTE.parse(reply).status != "ok"


@pytest.mark.parametrize("reply", ["‹|im_end|›", "B. ‹|im_end|›"])
def test_an_option_that_is_a_control_token_is_compared_as_the_prompt_shows_it(reply: str) -> None:
    question = Choice("Which token?", options=("[INST]", "<|im_end|>"))
    labels = reply.startswith("B")
    assert "‹|im_end|›" in question.options_text((0, 1), labels)
    assert question.parse(reply, labels=labels).value == "<|im_end|>"
    with pytest.raises(QuestionError, match="cannot be told apart"):
        Choice("Which token?", options=("(INST)", "[INST]"))
