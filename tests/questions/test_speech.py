from __future__ import annotations

import pytest

from populace import questions

LINE = questions.Speech("{transcript}")
PROMPT = """You are Ann O'Dell, 30 years old, a baker.

What comes to your mind:
- Today at 08:10: Bo Chen was reading at home.
It is 09:00. You are at home, talking with Bo Chen.

The conversation so far:
Bo Chen: Good morning, Ann!
Ann O'Dell: The mill wheel has been standing still since Monday.
Bo Chen: I heard that they will mend it before the market opens."""


@pytest.mark.parametrize(
    "line",
    [
        "Good morning, Bo!",
        "Good morning!",
        "You were right about the bread.",
        "You were joking, I hope!",
        "Guten Morgen, Bo!",
    ],
)
def test_courtesies_and_remarks_to_the_other_are_speech(line: str) -> None:
    assert LINE.fault(line, PROMPT) is None


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("The conversation so far:", "echo"),
        ("I heard that they will mend it before the market opens.", "echo"),
        ("Bo Chen was reading at home.", "echo"),
        ("You were reading at home with Bo.", "narration"),
    ],
)
def test_lines_of_the_prompt_are_no_speech(line: str, fault: str) -> None:
    assert LINE.fault(line, PROMPT) == fault


def test_a_line_with_the_letters_of_another_in_another_order_is_no_echo() -> None:
    words = "I heard that they will mend it before the market opens.".split()
    other_order = " ".join(word[::-1] for word in reversed(words))
    assert LINE.fault(other_order, PROMPT) is None
    assert LINE.fault("I have heard that they mend it before the market opens.", PROMPT) == "echo"


def test_a_first_name_that_somebody_else_has_does_not_address_the_speaker() -> None:
    other = PROMPT.replace("Bo Chen was", "Ann van der Berg was")
    assert LINE.fault("So long, Ann!", PROMPT) == "addresses the speaker"
    assert LINE.fault("So long, Ann!", other) is None
    assert LINE.fault("So long, Ann!", other.replace("Ann van", "Joann van")) == "addresses the speaker"


def test_a_transcript_given_back_is_no_line() -> None:
    transcript = PROMPT.partition("\n\n")[2].rpartition("\n\n")[2]
    assert LINE.read(transcript, PROMPT).status == "unparseable"
    first = "You are Ann Lee.\n\nNobody has spoken yet; you speak first."
    assert LINE.read("Nobody has spoken yet; you speak first.", first).status == "unparseable"


def test_a_name_with_an_apostrophe_is_removed_in_front_of_a_line() -> None:
    assert LINE.read("Ann O'Dell: It will be late again.", PROMPT).value == "It will be late again."


AIMED = PROMPT.partition("The conversation")[0] + (
    "Nobody has spoken yet; you speak first.\n"
    'You think, "I want Bo Chen to know that the mill is open." Now say it to Bo Chen.\n'
    "Write only the next line."
)


def test_a_line_with_an_aim_is_led_to_the_name_of_the_other() -> None:
    assert LINE.lead(PROMPT) == "Ann O'Dell:"
    assert LINE.lead(AIMED) == "Ann O'Dell: Bo,"
    assert LINE.read(" the mill is open again, come and see.", AIMED).value == "The mill is open again, come and see."


def test_what_was_told_to_one_may_be_told_to_another_in_the_same_words() -> None:
    prompt = PROMPT.replace(
        "- Today", '- Today at 08:00: You told Cy Holt: "The mill opens again on Monday at nine."\n- Today'
    )
    assert LINE.fault("The mill opens again on Monday at nine.", prompt) is None
    assert LINE.fault('You told Cy Holt: "The mill opens again on Monday at nine."', prompt) == "narration"
    heard = prompt.replace("You told Cy Holt", "Cy Holt told you")
    assert LINE.fault("The mill opens again on Monday at nine.", heard) == "echo"


@pytest.mark.parametrize(
    "line",
    [
        "I saw Cy at the mill this morning, and he looked tired.",
        "I told Cy about it, and he will help.",
        "I told Cy that we open at nine.",
        "I talked with Cy. He is well.",
        "I was glad that you came.",
        "You told Cy about the mill, thank you.",
        "You saw Cy, did you?",
    ],
)
def test_to_speak_of_what_one_saw_or_told_is_speech(line: str) -> None:
    assert LINE.fault(line, PROMPT) is None


@pytest.mark.parametrize(
    "line",
    [
        "I saw Dayo Okonjo, who was busy with this: get ready.",
        "I told Cy about the mill. I said: come at nine.",
        'I told Cy: "Come at nine."',
        "You saw Cy at the mill.",
        "You told Cy about the mill.",
    ],
)
def test_to_report_words_or_a_memory_is_narration(line: str) -> None:
    assert LINE.fault(line, PROMPT) == "narration"


@pytest.mark.parametrize("name", ["Ada van der Berg", "José Ortega y Gasset", "Omar bin Said", "Leonor d'Avila"])
def test_names_with_small_words_are_names(name: str) -> None:
    first = name.split()[0]
    prompt = PROMPT.replace("Ann O'Dell", name).replace("Ann!", f"{first}!")
    assert LINE.lead(prompt) == f"{name}:"
    assert LINE.read(f"{name}: It will be late again.", prompt).value == "It will be late again."
    assert LINE.fault(f"Good evening, {first}!", prompt) == "addresses the speaker"
    assert LINE.read(f"Bo Chen: Yes.\n{name}: No.", prompt).status == "unparseable"


def test_two_people_of_one_first_name_may_call_each_other_by_it() -> None:
    prompt = PROMPT.replace("Bo Chen", "Ann Chen")
    assert LINE.fault("Well then, Ann!", prompt) is None
    assert LINE.fault("Ann is right about that, you know.", prompt) is None
    assert LINE.fault("Well then, Ann O'Dell!", prompt) == "addresses the speaker"
    assert LINE.fault("Well then, Ann!", PROMPT) == "addresses the speaker"
