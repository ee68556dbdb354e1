from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from populace import People, Run, Scenario, Scripted, Utterance, simulate
from populace.base.errors import QuestionError
from populace.models import Request
from populace.questions.cleaning import RULES, CleaningContext, clean
from populace.questions.echo import EchoDetector
from populace.questions.speakers import PromptSpeakers
from support.hostile import AROUND, CORES, GOOD, PROMPT, SYSTEM, USER, complaints, hostile

LIMIT = 200
POST = Utterance("What do you answer?", limit=LIMIT)
HOSTILE = hostile()
CONTEXT = CleaningContext(LIMIT, PromptSpeakers.from_prompt(PROMPT), EchoDetector(PROMPT))


def test_there_are_at_least_500_hostile_completions() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) >= 500


def test_every_hostile_completion_is_cleaned_or_invalid_and_none_is_kept_as_it_came() -> None:
    outcomes: Counter[str] = Counter()
    for reply in HOSTILE:
        cleaned = POST.examine(reply, PROMPT)
        if cleaned.text is None:
            assert cleaned.reason in {"empty", "refusal", "tangled", *RULES}
            outcomes["invalid"] += 1
            continue
        assert complaints(cleaned.text, LIMIT) == [], (reply[:300], cleaned)
        assert cleaned.text == reply.strip() or cleaned.rules or not reply.isprintable()
        outcomes["cleaned" if cleaned.rules else "untouched"] += 1
    assert outcomes["invalid"] > 100
    assert outcomes["cleaned"] > 100
    assert outcomes["untouched"] <= 5


@pytest.mark.parametrize("around", [name for name in AROUND if name not in ("comment", "split tag", "another first")])
def test_a_good_post_is_found_whatever_stands_around_it(around: str) -> None:
    assert str(POST.examine(AROUND[around].replace("{}", GOOD), PROMPT).text).startswith(GOOD)


@pytest.mark.parametrize("core", ["empty", "unbroken", "rules", "goal", "persona", "parrot", "refusal"])
def test_what_cannot_be_cleaned_is_invalid_with_a_reason(core: str) -> None:
    reasons = {"empty": "empty", "unbroken": "length", "refusal": "refusal"}
    assert POST.examine(CORES[core], PROMPT).reason == reasons.get(core, "echo")
    assert POST.read(CORES[core], PROMPT).status == ("refused" if core == "refusal" else "unparseable")


def test_a_reply_that_begins_as_another_person_is_invalid() -> None:
    assert POST.examine(f"Bo Chen: {GOOD}", PROMPT).reason == "another speaker"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Look at the chain. <3", "Look at the chain. <3"),
        ("If x < 3 and y > 4, it fits.", "If x < 3 and y > 4, it fits."),
        ("I'm sorry to hear that, Bo. I can't help but laugh.", None),
        ("I can't wait, honestly. As an old mechanic I've seen worse.", None),
        ("Update: it works now! See http://spokes.example: all is there.", None),
        ("No. No. No. That is not how it works.", None),
        ("Q & A at 5 o'clock; R&D too; 100% sure :-)", None),
        ("- first the chain\n- then the cassette", None),
        ("She said \"no\" and then 'yes'.", None),
        ("«Non», dit Émile. 今日は\u3000晴れ 👩\u200d👧 می\u200cروم", None),
        ("Bo, that is the cassette.", None),
        ("Ratio 3:2, time 10:30, done.", None),
        ("snake_case and 2*3*4 are fine", None),
    ],
)
def test_what_people_really_write_is_left_alone(reply: str, text: str | None) -> None:
    assert POST.examine(reply, PROMPT).text == (text or reply)
    assert POST.examine(reply, PROMPT).rules == ()


def test_a_long_text_ends_with_a_sentence_within_the_limit() -> None:
    cleaned = POST.examine(CORES["endless"], PROMPT)
    assert cleaned.text is not None
    assert cleaned.text.endswith("road.")
    assert LIMIT / 2 < len(cleaned.text) <= LIMIT


def test_a_few_words_in_common_with_the_prompt_are_no_echo() -> None:
    assert POST.read("My chain slips whenever I stand up, too.", PROMPT).status == "ok"


def test_an_echo_is_cut_away_from_an_answer_that_has_more_to_say() -> None:
    cleaned = POST.examine(f"{CORES['rules']} {GOOD}", PROMPT)
    assert (cleaned.text, cleaned.rules) == (GOOD, ("echo",))


def test_without_a_prompt_names_can_be_given() -> None:
    post = Utterance("Well?", names=("Zaphod",))
    assert post.parse("It is warm today.\nZaphod: Indeed.").value == "It is warm today."


def test_a_title_and_a_text_are_separated() -> None:
    post = Utterance("What do you post?", limit=LIMIT, title=True)
    texts = [f"Title: **Chains**\n\nPost: {GOOD}", f'"Chains"\n{GOOD}', GOOD]
    answers = pl.Series([post.encode(post.read(reply, PROMPT).value) for reply in texts])
    assert post.split_titles(answers).rows() == [("Chains", GOOD), ("Chains", GOOD), (GOOD, GOOD)]
    assert POST.split_titles(pl.Series([GOOD])).rows() == [(None, GOOD)]


def test_titles_of_hostile_completions_are_clean_too() -> None:
    post = Utterance("What do you post?", limit=LIMIT, title=True)
    values = [value for reply in HOSTILE if (value := post.read(reply, PROMPT).value) is not None]
    assert len(values) > 100
    for value in values:
        assert complaints(value["text"], LIMIT) == [], value
        assert complaints(value["title"], 100) == [], value
        assert "\n" not in value["title"]


def test_the_description_gives_the_same_question_back() -> None:
    post = Utterance("What?", limit=90, title=True, names=("Bo",))
    assert Utterance.from_description(json.loads(post.canonical())) == post
    assert post.canonical() != Utterance("What?", limit=91, title=True, names=("Bo",)).canonical()


def test_a_limit_too_short_for_a_sentence_is_refused() -> None:
    with pytest.raises(QuestionError, match="19 characters"):
        Utterance("What?", limit=19)


def hostile_writer(request: Request) -> str:
    """The hostile completion whose number stands in the prompt, and the same again when asked to repair it."""
    match = re.search(r"Your ticket is (\d+)", request.messages[0][1])
    assert match
    return HOSTILE[int(match.group(1))]


class Thread(Scenario):
    """Everybody writes once."""

    def setup(self) -> People:
        return People(pl.DataFrame({"id": range(len(HOSTILE)), "text": [""] * len(HOSTILE)}))

    def profile(self) -> str:
        return f"{SYSTEM} Your ticket is {{id}}."

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        prompt = USER.removesuffix("What do you answer?").strip()
        self.people["text"] = await self.ask(self.people, POST, given=prompt, purpose="post")


@pytest.fixture(scope="module")
def thread() -> Run:
    return simulate(Thread(), model=Scripted(hostile_writer, spec="scripted:hostile_writer"), seed=1, keep="nothing")


def test_no_hostile_completion_reaches_a_thread_raw(thread: Run) -> None:
    answers = thread.answers(1)
    assert answers.height == len(HOSTILE)
    for status, value in answers.select("status", "value").iter_rows():
        assert status in ("ok", "refused", "unparseable")
        assert (value is not None) == (status == "ok")
        assert value is None or complaints(value, LIMIT) == []
    assert Counter(answers["status"])["ok"] > 100
    texts = [text for text in thread.people()["text"] if text]
    assert sorted(texts) == sorted(answers["value"].drop_nulls())


def test_a_run_counts_how_often_each_rule_changed_a_reply(thread: Run) -> None:
    counts = {(outcome, rule): replies for outcome, rule, replies in thread.cleaning_counts().iter_rows()}
    statuses = Counter(thread.answers(1)["status"])
    assert counts["untouched", ""] + counts["cleaned", ""] == statuses["ok"]
    assert counts["invalid", "refusal"] == statuses["refused"]
    # Whatever could not be read was asked again twice, and the model said the same.
    assert counts["invalid", ""] == statuses["refused"] + 3 * statuses["unparseable"]
    assert {"html", "role tag", "own name", "invisible", "length"} <= {rule for outcome, rule in counts if rule}


PIECES = st.sampled_from([*list(AROUND.values()), GOOD, "Ann: ", "\nBo: ", "<b>", "&amp;", "**", "`", '"', "word ", ".",
                          "no ", "\n", "<|", "]", "](", "[x", "###", "&lt", ";", "<", "\u200d", "é"])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=25).map("".join))


@given(TEXTS)
@settings(max_examples=150, deadline=None)
@example("&amp;lt;b&amp;gt;one two three")
@example('"“one two three”"')
def test_cleaning_a_clean_text_changes_nothing(reply: str) -> None:
    once = clean(reply, CONTEXT)
    if once.text is not None:
        assert clean(once.text, CONTEXT) == type(once)(once.text)


@given(TEXTS, st.integers(20, 60))
@settings(max_examples=100, deadline=None)
def test_a_clean_text_is_never_longer_than_the_limit(reply: str, limit: int) -> None:
    assert len(clean(reply, CleaningContext(limit)).text or "") <= limit


@given(TEXTS)
@example("<|" + "0" * 41)
@settings(max_examples=150, deadline=None)
def test_cleaning_never_invents_a_word(reply: str) -> None:
    cleaned = clean(reply, CONTEXT)
    visible = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", " ", reply)
    for _ in range(20):
        visible = html.unescape(visible)
        visible = "".join(
            c for c in visible if c in "\n\t\r" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co")
        )
    bare = cleaned.text.replace("\u200c", "").replace("\u200d", "") if cleaned.text else ""
    known = set(re.findall(r"[^\W_]+", visible))
    assert [word for word in re.findall(r"[^\W_]+", bare) if word not in known] == []


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_whatever_is_kept_passes_patterns_that_know_nothing_of_the_rules(reply: str) -> None:
    text = clean(reply, CONTEXT).text
    assert text is None or complaints(text, LIMIT) == []
