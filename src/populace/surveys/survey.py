"""A survey without a class: a questionnaire, respondents, a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic

from populace.base.errors import UsageError
from populace.broker import CallSettings
from populace.engine.run import Keep, simulate
from populace.engine.scenario import Scenario
from populace.engine.signature import read_settings, refuse_unknown, takes_settings
from populace.engine.workspace import Workspace
from populace.journal import RunSettings
from populace.surveys.column_checks import check_columns, explain_conditions
from populace.surveys.instrument import Instrument, is_instrument
from populace.surveys.margins import rake_to
from populace.surveys.questionnaire import Questionnaire, add_place
from populace.surveys.respondents import Respondents, check_weights, naming_the_row, read_respondents
from populace.surveys.results import SurveyResults
from populace.surveys.scenario import SurveyScenario

FOLDER = "respondents"
"""The folder of a workspace that keeps the tables of respondents."""


class RespondentSettings(pydantic.BaseModel):
    """How a table of respondents is read.

    Example:
        >>> RespondentSettings(weight="w").id
        'id'
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    id: str = pydantic.Field(
        default="id",
        description="The column that identifies a respondent; people are numbered from 0 where there is none.",
    )
    name: str = pydantic.Field(
        default="", description="Where the respondents come from; the name of the file or scenario by default."
    )
    weight: str = pydantic.Field(default="", description="The column that holds weights.")
    margins: dict[str, dict[Any, float]] | str | Path | None = pydantic.Field(
        default=None, description="Known shares to rake to: for each column the share of each value, or a YAML file."
    )
    about: tuple[str, ...] | None = pydantic.Field(
        default=None, description="The columns that people's profiles are made of; all by default."
    )


class Survey:
    """A questionnaire that can be put to people.

    Args:
        questionnaire: The questionnaire.
        source: The file that it was read from, which errors name.

    Example:
        >>> from populace import Scripted
        >>> items = [{"id": "tea", "type": "single", "text": "Do you like tea?", "options": ["yes", "no"]}]
        >>> results = Survey.read({"items": items}).ask(
        ...     {"age": [20, 40, 60]}, model=Scripted(lambda request: {"yes": 1.0, "no": 0.0}), keep="nothing"
        ... )
        >>> results.table.select("id", "age", "tea").rows()
        [(0, 20, 'yes'), (1, 40, 'yes'), (2, 60, 'yes')]
    """

    def __init__(self, questionnaire: Questionnaire, source: str | Path | None = None) -> None:
        self.questionnaire, self.source = questionnaire, source

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any] | Questionnaire) -> Survey:
        """A survey from a YAML or CSV file, from a mapping, or from an instrument by its name or file."""
        if isinstance(source, (str, Path)) and (is_instrument(source) or not Path(source).suffix):
            return cls(Instrument.read(source).questionnaire)
        return cls(Questionnaire.read(source), source if isinstance(source, (str, Path)) else None)

    def __repr__(self) -> str:
        return f"<survey {self.questionnaire.title!r}: {len(self.questionnaire.items)} items>"

    @takes_settings(RespondentSettings)
    def scenario(
        self, respondents: Any, *, workspace: str | Path | Workspace | None = None, **settings: Any
    ) -> SurveyScenario:
        """The survey as a scenario, as `simulate`, `estimate` and experiments take it.

        Args:
            respondents: A CSV, Parquet, SPSS or Stata file, a table, the people of a run, or a scenario.
            workspace: The folder that holds runs; the current one by default.
            **settings: See `RespondentSettings`.
        """
        sample = read_settings(RespondentSettings, settings)
        refuse_unknown(settings, self.scenario)
        frame, weight = read_respondents(respondents, id=sample.id), sample.weight
        with naming_the_row(respondents):
            check_weights(frame, weight)
        if sample.margins:
            raked = rake_to(frame, sample.margins, weight=weight)
            frame = frame.drop(weight) if weight and weight != raked.name else frame
            frame, weight = frame.with_columns(raked), raked.name
        try:
            check_columns(self.questionnaire, frame)
            explain_conditions(self.questionnaire, frame)
        except UsageError as error:
            add_place(error, self.source)
            raise
        home = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
        file = Path(respondents).name if isinstance(respondents, (str, Path)) else "respondents"
        name = sample.name or (respondents.title() if isinstance(respondents, Scenario) else file)
        table = Respondents.keep(frame, home.folder / FOLDER, name=name, weight=weight, about=sample.about)
        return SurveyScenario(questionnaire=self.questionnaire, respondents=table)

    @takes_settings(RespondentSettings, RunSettings, CallSettings)
    def ask(
        self,
        respondents: Any,
        *,
        workspace: str | Path | Workspace | None = None,
        keep: Keep = "run",
        **settings: Any,
    ) -> SurveyResults:
        """Put the questionnaire to respondents.

        Args:
            respondents: A CSV, Parquet, SPSS or Stata file, a table, the people of a run, or a scenario.
            workspace: The folder that holds runs; the current one by default.
            keep: What outlives the process: the `run` folder and the call store, only the `calls`, or `nothing`.
            **settings: See `RespondentSettings` and `simulate`.
        """
        sample = {name: settings.pop(name) for name in RespondentSettings.model_fields if name in settings}
        scenario = self.scenario(respondents, workspace=workspace, **sample)
        return SurveyResults(simulate(scenario, workspace=workspace, keep=keep, **settings))
