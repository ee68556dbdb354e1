"""What the designs of a causal study say: every prompt of every design, from one declaration.

| design | a prompt states | it also tells |
|---|---|---|
| `blind` | one level | nothing |
| `covariates` | one level | the value of every covariate that has a statement |
| `unblinded` | one level | all levels, that a lot chose among them, and that nothing else depends on it |
| `within` | all levels, in an order of the person's own | that they differ in the treatment alone |
| `aggregate` | all levels | to a forecaster, who is asked for the share of people that will give the answer |

Texts are templates. The fields of items, treatment and covariates are filled in by columns (`causal/participants.py`),
so a prompt is composed in the same way as that of any scenario.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from populace.base.errors import UnknownNameError
from populace.base.formatting import percent
from populace.causal.covariate import Covariate
from populace.causal.study import CausalStudy
from populace.questions import Choice, Form, Number, Question

CausalDesign = Literal["blind", "covariates", "unblinded", "within", "aggregate"]
DESIGNS: tuple[CausalDesign, ...] = get_args(CausalDesign)
"""The designs, in the order in which they are reported."""

ONE_LEVEL: tuple[CausalDesign, ...] = ("blind", "covariates", "unblinded")
"""Designs whose prompts state one level each."""
SHOWS_RANGE: tuple[CausalDesign, ...] = ("unblinded", "within", "aggregate")
"""Designs whose prompts tell the whole range of levels."""

SITUATIONS, CONDITIONS, LEVEL_LIST = "situations", "conditions", "level_list"
"""Fields of the texts below: the levels as a numbered list in a person's order, in order, and in one sentence."""

_DISCLOSURE = (
    "This is a randomised experiment. The {noun} that you are told was chosen by lot from these: "
    f"{{{{{LEVEL_LIST}}}}}. {{chances}} The lot is independent of everything else: whatever {{noun}} was drawn, "
    "{held} are the same."
)
_WITHIN = (
    "This is an experiment with {count} situations. They differ in the {noun} alone; everything else is the same in "
    f"all of them, and their order was drawn by lot.\n{{{{{SITUATIONS}}}}}"
)
_AGGREGATE = (
    "Researchers carry out a randomised experiment{population}. Every participant reads the text between the lines, "
    "in which one of the {count} conditions listed below takes the place of the dots, and answers the question. A lot "
    "decides which condition a participant gets. {chances} Nothing else differs between participants but by chance.\n"
    f"---\n{{setting}}\n…\n{{question}}\nOptions: {{options}}.\n---\n{{{{{CONDITIONS}}}}}"
)


@dataclass(frozen=True)
class DesignWording:
    """What the prompts of a design say at one level, or at all levels where a prompt holds all.

    Attributes:
        design: The design.
        given: What is told before the question, as a template.
        question: What is asked.
        fields: The fields that the texts of the design take beside those of the items.
    """

    design: CausalDesign
    given: str
    question: Question
    fields: tuple[str, ...] = ()


def design_wording(study: CausalStudy, design: CausalDesign, level: int = 0) -> DesignWording:
    """What the prompts of a design say.

    Args:
        study: The declaration.
        design: The design.
        level: The number of the level, for designs whose prompts state one.

    Example:
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> print(design_wording(study, "blind").given)
        You see apples.
        It costs {price} dollars.
    """
    if design == "blind":
        return DesignWording(design, blind_text(study, level), study.answer_question, (study.treatment.name,))
    if design == "covariates":
        statements = [covariate.statement for covariate in stated_covariates(study)]
        names = [covariate.name for covariate in stated_covariates(study)]
        given = _lines(study.setting, *statements, study.treatment.sentence(level))
        return DesignWording(design, given, study.answer_question, (study.treatment.name, *names))
    if design == "unblinded":
        given = _lines(disclosure(study), study.setting, study.treatment.sentence(level))
        return DesignWording(design, given, study.answer_question, (study.treatment.name, LEVEL_LIST))
    if design == "within":
        count, noun = len(study.treatment.values), _braces(study.treatment.words)
        given = _lines(study.setting, _WITHIN.format(count=count, noun=noun))
        return DesignWording(design, given, _within_question(study), (SITUATIONS,))
    if design == "aggregate":
        return DesignWording(design, _aggregate_text(study), _aggregate_question(study), (CONDITIONS,))
    raise UnknownNameError("design", design, DESIGNS)


def drift_wording(study: CausalStudy, covariate: Covariate, level: int) -> DesignWording:
    """What is said where the unstated value of a covariate is asked for: the blind text, and another question."""
    return DesignWording("blind", blind_text(study, level), covariate.elicitation(), (study.treatment.name,))


def blind_text(study: CausalStudy, level: int) -> str:
    """The setting and one level of the treatment, and nothing else."""
    return _lines(study.setting, study.treatment.sentence(level))


def stated_covariates(study: CausalStudy) -> list[Covariate]:
    """The covariates that have a statement."""
    return [covariate for covariate in study.covariates if covariate.statement]


def disclosure(study: CausalStudy) -> str:
    """How an unblinded prompt tells the design and its randomisation, as a template."""
    return _DISCLOSURE.format(noun=_braces(study.treatment.words), chances=_chances(study), held=_braces(study.held))


def situation_field(place: int) -> str:
    """The key of the answer to a situation of the within-prompt design, counted from 0."""
    return f"situation_{place + 1}"


def condition_field(level: int) -> str:
    """The key of the forecast for a level in the aggregate design."""
    return f"condition_{level + 1}"


def _chances(study: CausalStudy) -> str:
    treatment = study.treatment
    if treatment.equally_likely:
        return "Each is equally likely."
    return f"Their chances are {', '.join(percent(share) for share in treatment.shares)}, in this order."


def _within_question(study: CausalStudy) -> Form:
    questions: dict[str, Question] = {
        situation_field(place): Choice(f"Your answer in situation {place + 1}.", options=study.options)
        for place in range(len(study.treatment.values))
    }
    return Form(f"{study.question} Answer for each situation as if it were the only one.", questions=questions)


def _aggregate_question(study: CausalStudy) -> Form:
    questions: dict[str, Question] = {
        condition_field(level): Number(f"The percentage in condition {level + 1}.", low=0, high=100)
        for level in range(len(study.treatment.values))
    }
    text = f"What percentage of the participants in each condition answers {_braces(study.success)!r}?"
    return Form(text, questions=questions)


def _aggregate_text(study: CausalStudy) -> str:
    return _AGGREGATE.format(
        population=f" with {_braces(study.population)}" if study.population else "",
        count=len(study.treatment.values),
        chances=_chances(study),
        setting=study.setting,
        question=study.question,
        options=_braces(", ".join(study.options)),
    )


def _braces(text: str) -> str:
    """A text that is not a template, as one."""
    return text.replace("{", "{{").replace("}", "}}")


def _lines(*texts: str) -> str:
    return "\n".join(text.strip() for text in texts if text.strip())
