from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from populace.questions.cleaning import CleaningContext, apply_rules, clean
from populace.questions.echo import EchoDetector
from populace.questions.speakers import PromptSpeakers

PROMPT = (
    "You are Ann. Say what the thing is and how old it is.\nBo: I cannot help with that, as an AI. The fuse is gone."
)
WORDS = st.sampled_from(
    "I can't the fuse is gone as an AI Bo Ann and how old it ha no. yes! well, model, again".split()
)


@given(st.lists(WORDS, min_size=1, max_size=30).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_plain_words_are_cleaned_as_if_by_every_rule(text: str) -> None:
    context = CleaningContext(120, PromptSpeakers.from_prompt(PROMPT, ()), EchoDetector(PROMPT))
    assert clean(text, context) == apply_rules(text, context)
