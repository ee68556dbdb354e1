"""One survey: its items, how answers are distributed, a crosstab, and what one person was asked and answered."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from populace.studio.jobs import command
from populace.studio.pages.survey import data
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import Page, frame, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import prose
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_options
from populace.studio.widgets.elements import fact_list, outline
from populace.studio.widgets.part_list import PartList
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.run_content import RunContent
from populace.surveys import SurveyResults
from populace.surveys.results import MARGINALS_NOTE, OPEN_NOTE

_ROWS = 25
_MOST_PEOPLE = 1_000


def register(studio: Studio) -> None:
    """Add the page `/survey/NAME`."""

    @page_at("/survey/{name}")
    async def survey(name: str, item: str = "", by: str = "", person: str = "") -> None:
        with frame(name, command=command("show", name), crumbs=[("Runs", "/"), (name, run_address(name))]) as page:
            results = await load(data.open_survey, studio.library.run(name))
            survey_page = _SurveyPage(studio, page, name, item, by, person)
            await survey_page.build(results)
            studio.changes.listen(name, Redrawer(survey_page.follow))


class _SurveyPage:
    """The parts of the page, and how they follow the run."""

    def __init__(self, studio: Studio, page: Page, name: str, item: str, by: str, person: str) -> None:
        self.studio, self.page, self.name = studio, page, name
        self.item, self.by, self.person = item, by, person

    async def build(self, results: SurveyResults) -> None:
        self.results = results
        self.content = RunContent(self.studio.library, self.name)
        with self.content.element:
            fact_list(await load(data.survey_facts, results))
            self.items = PartList()
            with section("Answers", note=MARGINALS_NOTE):
                self._show_choices()
                self.answers = PartList()
            with section("One person", note="what they were asked, with the exact prompts"):
                self._show_people()
                self.persons = PartList()
        await self.show()

    async def follow(self) -> None:
        """Show the changed run."""
        await self.content.draw(self._read)

    async def _read(self) -> None:
        self.results = await load(data.open_survey, self.studio.library.run(self.name))
        await self.show()

    async def show(self) -> None:
        results = self.results
        table = await load(data.item_table, results)
        with self.items.drawing(), self.items.section("Items") as inner:
            columns = {"item": "item", "type": "type", "question": "question", "valid": "valid", "invalid": "invalid"}
            inner.table(table, columns, "items", sortable=True, size=_ROWS)
        await self.show_answers()
        await self.show_person()

    def _show_choices(self) -> None:
        items, columns = [item.id for item in self.results.questionnaire.items], data.group_columns(self.results)
        self.item = self.item if self.item in items else items[0]
        self.by = self.by if self.by in columns else ""
        with ui.row().classes("w-full items-center gap-3"):
            item = outline(ui.select(items, label="Item", value=self.item), "item", "w-full max-w-xs")
            by = outline(ui.select({"": "everybody", **{c: c for c in columns}}, label="By", value=self.by), "by")

        async def choose() -> None:
            self.item, self.by = item.value or self.item, by.value or ""
            self.page.update_address(item=self.item, by=self.by)
            await self.show_answers()

        for select in (item, by):
            select.on_value_change(choose)

    async def show_answers(self) -> None:
        """The marginals of the chosen item, and the crosstab by the chosen column."""
        marginals = await load(data.item_answers, self.results, self.item)
        question = next(each.text for each in self.results.questionnaire.items if each.id == self.item)
        with self.answers.drawing():
            self.answers.note(question, 1_000, classes="foreign", name="question")
            shares = marginals.filter(marginals["value"] != "mean")
            if shares.height:
                options = bar_options(shares, "value", ["share"])
                self.answers.chart(f"{self.item}: share of each answer", options, shares, "marginals-chart")
            self.answers.table(marginals, marginals.columns, "marginals", size=_ROWS)
            if self.item in self.results.open_items:
                self.answers.note(OPEN_NOTE, classes="small", name="open-note")
            if self.by:
                table = self.results.crosstab_text(self.item, self.by)
                self.answers.note(f"{self.item} by {self.by}, with 95 % intervals", classes="small")
                self.answers.table(table, table.columns, "crosstab", key="value", size=_ROWS)

    def _show_people(self) -> None:
        ids = [str(each) for each in self.results.table["id"].head(_MOST_PEOPLE).to_list()]
        value = self.person if self.person in ids else None
        select = outline(
            ui.select(ids, label="Respondent", value=value, with_input=True, clearable=True), "person", "max-w-xs"
        )

        async def choose() -> None:
            self.person = select.value or ""
            self.page.update_address(person=self.person)
            await self.show_person()

        select.on_value_change(choose)

    async def show_person(self) -> None:
        """The answers of the chosen person, each with its prompt."""
        with self.persons.drawing():
            if not self.person:
                return
            table = await load(data.person_answers, self.results, self.person)
            if not table.height:
                self.persons.note("This person was not asked anything.", classes="soft")
                return
            self.persons.table(table, {"item": "item", "value": "answer", "status": "status"}, "answers", size=_ROWS)
            for row in table.head(_ROWS).iter_rows(named=True):
                with self.persons.expansion(f"Prompt of {row['item']}", f"prompt-{row['item']}") as inner:
                    text = f"{row['system'] or ''}\n\n{row['user'] or ''}".strip()
                    inner.custom(f"text-{row['item']}", text, partial(prose, text, fixed=True))
            first = table.row(0, named=True)
            target = run_address(self.name, "person", self.person, step=first["step"])
            self.persons.custom("link", target, lambda: test_id(ui.link("All about this person", target), "to-person"))
