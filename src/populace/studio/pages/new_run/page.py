"""The page for a new run: choose a scenario, fill in its form, see an estimate, start it."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from nicegui import background_tasks, context, ui

from populace.base.errors import PopulaceError, UntrustedCodeError, UsageError
from populace.engine.discovery import known_scenarios
from populace.models import MODEL_FORMS
from populace.studio.catalogue import Catalogue, ScenarioOffer
from populace.studio.jobs import command
from populace.studio.pages.new_run.data import FIELDS, LIMITS, SETTINGS, RunForm, estimate_rows
from populace.studio.shell.frame import Page, error_card, frame, page_at, section, test_id
from populace.studio.shell.loading import load, wait_for
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, disable_during, note, refill
from populace.studio.widgets.fields import add_form_style, field, field_grid
from populace.studio.widgets.form_values import read_parameters
from populace.studio.widgets.start_dialog import show_start
from populace.tools.describe import Parameter

_PAUSE_S = 0.7
"""How long after the last input an estimate begins."""

_KNOWN_MODELS = ("embedded", "scripted:cast", "scripted:uniform", "scripted:first")


def register(studio: Studio) -> None:
    """Register `/new`."""
    catalogue = Catalogue(studio.jobs)

    @page_at("/new")
    async def new_run() -> None:
        query = dict(context.client.request.query_params)
        add_form_style()
        with frame("New run") as page:
            offers = await load(catalogue.offers)
            name = query.get("scenario", offers[0].name)
            _show_offers(offers, name, query)
            # Below the scenarios, so that another one can be chosen where this one cannot be loaded.
            try:
                description = await _description(catalogue, name)
                form = RunForm.read(description["name"], read_parameters(description), query)
            except UntrustedCodeError as error:
                _show_trust(catalogue, name, error)
                return
            except PopulaceError as error:
                page.show_command(command("scenarios", name))
                error_card(error)
                action("Try again", ui.navigate.reload, "again")
                return
            models = await load(_models, studio)
            _NewRun(studio, page, form).show(description, models)


def _show_trust(catalogue: Catalogue, name: str, error: UntrustedCodeError) -> None:
    """The file of a scenario that is not trusted yet, and a button that trusts it."""

    def trust() -> None:
        catalogue.trust(name)
        ui.navigate.reload()

    with section("Do you trust this file?"):
        prose(error.what)
        with test_id(ui.column().classes("w-full"), "file-text"):
            prose(catalogue.source(name), fixed=True)
        action("Trust it and load it", trust, "trust", look="unelevated")


async def _description(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """The description of a scenario. Before a file is loaded by a child process, the page is sent."""
    if name in known_scenarios():
        return await catalogue.description(name)
    with ui.row().classes("items-center gap-2") as waiting:
        ui.spinner(size="sm")
        ui.label(f"Loading {display_text(name, 120)}…").classes("soft")
    await wait_for(context.client.connected())
    try:
        description = await wait_for(catalogue.description(name))
    except PopulaceError:
        waiting.delete()
        raise
    waiting.delete()
    return description


def _show_offers(offers: list[ScenarioOffer], choice: str, query: dict[str, str]) -> None:
    settings = {each.name: query[each.name] for each in FIELDS if each.name in query}
    with section("Scenario"):
        with ui.element("div").classes("offers").props('role=group aria-label="Scenarios"'):
            for offer in offers:
                selected = offer.name == choice.partition(".py:")[0] + (".py" if ".py:" in choice else "")
                target = f"/new?{urlencode({'scenario': offer.name, **settings})}"
                card = ui.element("button").classes("offer chosen" if selected else "offer")
                card.props(f"type=button aria-pressed={'true' if selected else 'false'}")
                card.on("click", lambda _, target=target: ui.navigate.to(target))
                with test_id(card, f"scenario-{offer.name}"):
                    note(offer.name, 80, classes="offer-name")
                    note(offer.summary, 240)
        if not any(offer.file for offer in offers):
            note("`populace new mine` in the folder of this workspace writes a scenario of your own.")


def _models(studio: Studio) -> list[str]:
    """Names of models to suggest: those that need no server, and those of earlier runs."""
    runs = [studio.library.card(name).overview for name in studio.library.names()[:50]]
    used = [run.decided_by for run in runs if run is not None]
    return list(dict.fromkeys([*_KNOWN_MODELS, *(model for model in used if ":" in model)]))


class _NewRun:
    def __init__(self, studio: Studio, page: Page, form: RunForm) -> None:
        self.studio, self.page, self.form = studio, page, form
        self._estimate_task: asyncio.Task[Any] | None = None
        context.client.on_delete(self._cancel_estimate)

    def show(self, description: dict[str, Any], models: list[str]) -> None:
        """Build the page below the scenarios."""
        with section(display_text(description["title"], 80)):
            prose(description["purpose"] or "This scenario has no description.")
            with ui.row().classes("items-center gap-3"):
                note(f"Main metrics: {display_text(', '.join(description['chart']), 200) or 'none'}")
                _card_button(description)
            with field_grid():
                for each in self.form.parameters:
                    field(each, self.form.texts.get(each.name), self._on_parameter)
            if not self.form.parameters:
                ui.label("It has no parameters.").classes("soft")
        self._show_settings(models)
        self._show_estimate()
        with ui.column().classes("startbar"):
            look = "unelevated icon=play_arrow"
            self._start = action("Start the run", self._start_run, "start-run", look=look)
            self._refusal = test_id(ui.column().classes("w-full").props("aria-live=polite"), "refused")
        self._update()

    def _show_settings(self, models: list[str]) -> None:
        model, *others, recording = SETTINGS
        text = self.form.settings.get

        def setting(each: Parameter) -> ui.element:
            return field(each, text(each.name), self._on_setting, name=each.name)

        with section("Model and chance"):
            with field_grid():
                box = setting(model)
                if isinstance(box, ui.input):
                    box.set_autocomplete(models)
                for each in others:
                    setting(each)
                with ui.element("div") as self._recording:
                    setting(recording)
            if isinstance(box, ui.input):
                with ui.row().classes("items-center gap-1"):
                    note("Known here:")
                    for name in models:
                        look = "flat dense size=sm"
                        action(display_text(name, 80), partial(box.set_value, name), f"model-{name}", look=look)
            with ui.expansion("How models are named").classes("w-full").props("dense"), ui.column().classes("gap-1"):
                for form, meaning in MODEL_FORMS.items():
                    with ui.row().classes("gap-2 items-baseline"):
                        ui.label(form).classes("commandline").style("flex: 0 0 auto")
                        note(meaning)
            expanded = any(text(each.name) for each in LIMITS)
            with ui.expansion("Budget", value=expanded).classes("w-full").props("dense") as budget:
                test_id(budget, "budget")
                ui.label("The run stops at a limit. It can be resumed, and nothing is paid for twice.").classes("soft")
                with field_grid():
                    for each in LIMITS:
                        setting(each)

    def _show_estimate(self) -> None:
        with section("What it will take", note="estimated from trial runs with random answers; nothing is spent"):
            self._estimate = test_id(ui.element("div").classes("expected").props("aria-live=polite"), "estimate")
            action("Estimate again", self._estimate_soon, "estimate-again", look="flat dense icon=refresh")

    def _on_parameter(self, name: str, text: str) -> None:
        self.form.texts[name] = text
        self._update()

    def _on_setting(self, name: str, text: str) -> None:
        self.form.settings[name] = text
        self._update()

    def _update(self) -> None:
        self.page.show_command(command(*self.form.run()))
        query = self.form.query()
        defaults: dict[str, None] = dict.fromkeys(context.client.request.query_params)
        defaults |= dict.fromkeys(each.name for each in (*self.form.parameters, *FIELDS))
        defaults |= dict.fromkeys(f"scenario_{each.name}" for each in self.form.parameters)
        self.page.update_address(**defaults | query)
        self._recording.set_visibility(self.form.setting_text("decider") == "replay")
        self._refusal.clear()
        self._estimate_soon(_PAUSE_S)

    def _estimate_soon(self, pause: float = 0.0) -> None:
        self._cancel_estimate()
        self._estimate_task = background_tasks.create(self._do_estimate(pause), name="an estimate")

    def _cancel_estimate(self) -> None:
        if self._estimate_task is not None:
            self._estimate_task.cancel()

    async def _do_estimate(self, pause: float) -> None:
        errors = self.form.input_errors()
        with refill(self._estimate):
            if errors:
                name, error = next(iter(errors.items()))
                ui.label(f"It waits for {display_text(name, 80)}: {display_text(error, 300)}.").classes("soft")
                return
            with ui.row().classes("items-center gap-2"):
                ui.spinner(size="sm")
                ui.label("Estimating… the run can be started without it.").classes("soft")
        await asyncio.sleep(pause)
        try:
            estimate = await self.studio.jobs.call(*self.form.estimate())
        except PopulaceError as error:
            with refill(self._estimate):
                error_card(error)
            return
        with refill(self._estimate):
            for row in estimate_rows(estimate, self.form):
                with ui.column().classes("gap-0 expected-row"):
                    note(row.what)
                    note(row.amount, classes="figure")
                    note(row.note, 200)

    async def _start_run(self) -> None:
        errors = self.form.input_errors()
        if errors:
            message = "; ".join(f"{name} {error}" for name, error in errors.items())
            with refill(self._refusal):
                error_card(UsageError(f"Nothing was started: {message}.", "Correct what is marked in the form."))
            return
        with disable_during(self._start):
            await show_start(self.studio.jobs.start(*self.form.run()))


def _card_button(description: dict[str, Any]) -> None:
    """A button that shows the card of a scenario, where there is one."""
    if not description["card"]:
        return
    text = Path(description["card"]).read_text(encoding="utf-8", errors="replace")
    with ui.dialog() as dialog, ui.card().classes("w-full"):
        # Only cards that come with Populace are trusted as markup.
        if description["name"] in known_scenarios():
            ui.markdown(text).classes("w-full card-text")
        else:
            prose(text, 20_000)
        action("Close", dialog.close, look="flat")
    action("Read its card", dialog.open, "card", look="flat dense icon=article")
