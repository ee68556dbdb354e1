"""Surveys without a class: questionnaires as files, respondents as tables, results with weights and intervals."""

from populace.surveys.files import write_results
from populace.surveys.instrument import Estimand, Instrument, Scale, instrument_names
from populace.surveys.items import Item
from populace.surveys.questionnaire import Block, Questionnaire
from populace.surveys.respondents import Respondents, read_respondents
from populace.surveys.results import SurveyResults
from populace.surveys.scenario import SurveyScenario
from populace.surveys.survey import Survey
from populace.surveys.variables import Variable
from populace.surveys.weights import rake

__all__ = [
    "Block",
    "Estimand",
    "Instrument",
    "Item",
    "Questionnaire",
    "Respondents",
    "Scale",
    "Survey",
    "SurveyResults",
    "SurveyScenario",
    "Variable",
    "instrument_names",
    "rake",
    "read_respondents",
    "write_results",
]
