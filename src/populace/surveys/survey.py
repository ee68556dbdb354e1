"""A survey without a class: a questionnaire, respondents, a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from populace.engine.run import simulate
from populace.engine.workspace import Workspace
from populace.surveys.questionnaire import Questionnaire
from populace.surveys.respondents import Respondents, read_respondents
from populace.surveys.results import SurveyResults
from populace.surveys.scenario import SurveyScenario
from populace.surveys.weights import rake

FOLDER = "respondents"
"""The folder of a workspace that keeps the tables of respondents."""


class Survey:
    """A questionnaire that can be put to people.

    Args:
        questionnaire: The questionnaire.

    Example:
        >>> from populace import Scripted
        >>> items = [{"id": "tea", "type": "single", "text": "Do you like tea?", "options": ["yes", "no"]}]
        >>> results = Survey.read({"items": items}).ask(
        ...     {"age": [20, 40, 60]}, model=Scripted(lambda request: {"yes": 1.0, "no": 0.0}), keep="nothing"
        ... )
        >>> results.table.select("id", "age", "tea").rows()
        [(0, 20, 'yes'), (1, 40, 'yes'), (2, 60, 'yes')]
    """

    def __init__(self, questionnaire: Questionnaire) -> None:
        self.questionnaire = questionnaire

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any] | Questionnaire) -> Survey:
        """A survey from a YAML or CSV file, or from a mapping."""
        return cls(Questionnaire.read(source))

    def __repr__(self) -> str:
        return f"<survey {self.questionnaire.title!r}: {len(self.questionnaire.items)} items>"

    def scenario(
        self,
        respondents: Any,
        *,
        id: str = "id",
        weight: str = "",
        margins: Mapping[str, Mapping[str, float]] | None = None,
        about: tuple[str, ...] | None = None,
        workspace: str | Path | Workspace | None = None,
    ) -> SurveyScenario:
        """The survey as a scenario, as `simulate`, `estimate` and experiments take it; see `ask` for the arguments."""
        frame = read_respondents(respondents, id=id)
        if margins:
            raked = rake(frame, margins, weight=weight)
            frame = frame.drop(weight) if weight and weight != raked.name else frame
            frame, weight = frame.with_columns(raked), raked.name
        home = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
        name = Path(respondents).name if isinstance(respondents, (str, Path)) else "respondents"
        table = Respondents.keep(frame, home.folder / FOLDER, name=name, weight=weight, about=about)
        return SurveyScenario(questionnaire=self.questionnaire, respondents=table)

    def ask(
        self,
        respondents: Any,
        *,
        id: str = "id",
        weight: str = "",
        margins: Mapping[str, Mapping[str, float]] | None = None,
        about: tuple[str, ...] | None = None,
        workspace: str | Path | Workspace | None = None,
        **settings: Any,
    ) -> SurveyResults:
        """Put the questionnaire to respondents.

        Args:
            respondents: A CSV, Parquet, SPSS or Stata file, a table, or the people of a run.
            id: The column that identifies a respondent; people are numbered from 0 where there is none.
            weight: The column that holds weights.
            margins: Known shares to rake to: for each column the share of each value.
            about: The columns that people's profiles are made of; all by default.
            workspace: The folder that holds runs; the current one by default.
            **settings: The settings of a run, such as `model` and `seed`; see `simulate`.
        """
        scenario = self.scenario(respondents, id=id, weight=weight, margins=margins, about=about, workspace=workspace)
        return SurveyResults(simulate(scenario, workspace=workspace, **settings))
