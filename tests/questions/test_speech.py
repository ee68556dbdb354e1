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
