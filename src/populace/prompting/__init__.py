"""How a question to people becomes messages to a model.

The modules stand in the order in which a prompt comes about: `inquiry` (who is asked what), `composition` (the
text: profile, announcements, situation, question), `variation` (the same in other words, names and orders) and
`conversations` (options in order, how to answer, messages).
"""

from populace.prompting.composition import Prompts, compose
from populace.prompting.conversations import Conversations, conversations, rows_for_sampling, scoring_mode, turn
from populace.prompting.inquiry import Inquiry, Invalid, Rule, Situation
from populace.prompting.variation import Variation

__all__ = [
    "Conversations",
    "Inquiry",
    "Invalid",
    "Prompts",
    "Rule",
    "Situation",
    "Variation",
    "compose",
    "conversations",
    "rows_for_sampling",
    "scoring_mode",
    "turn",
]
