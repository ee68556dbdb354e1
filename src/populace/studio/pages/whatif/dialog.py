"""The dialog behind *What if…* and *Multiverse*: who answers an utterance, with which words, how many times."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from nicegui import ui

from populace.base.errors import UsageError
from populace.studio.jobs import CommandJob, command
from populace.studio.pages.forum.data import ForumPost, ForumView
from populace.studio.pages.forum.post import forum_address
from populace.studio.pages.whatif.data import arguments
from populace.studio.shell.frame import notify_errors, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio

_WHO = {
    "troll": "A troll",
    "moderator": "A moderator",
    "person": "Somebody of the community",
    "own": "You, in your own words",
    "other": "Somebody else, described in words",
    "draw": "Whoever comes, by another draw",
}
_WORDS = {"troll": "a troll", "moderator": "a moderator"}
_MOST_PEOPLE = 1_000
MOST = 12
"""So many continuations of an utterance are made at once at most."""
BEFORE: WeakKeyDictionary[CommandJob, frozenset[str]] = WeakKeyDictionary()
"""The forks that there were before a command made more of them."""


class Turning:
    """Asks how an utterance goes on in another way, and starts it.

    Args:
        studio: The Studio.
        run: The run.
        view: Gives its community as it is shown.
    """

    def __init__(self, studio: Studio, run: str, view: Callable[[], ForumView]) -> None:
        self.studio, self.run, self.view = studio, run, view
        # Dialogs live outside of what is drawn again while the run goes on.
        self._host = ui.element("div")

    def ask(self, said: ForumPost, several: bool) -> None:
        """Open the dialog for an utterance; several for a multiverse."""
        regime = self.view().run.manifest.regime
        choices = {key: text for key, text in _WHO.items() if several or key != "draw"}
        with self._host, ui.dialog() as dialog, ui.card().classes("w-full gap-3").style("max-width: 560px"):
            title = "Multiverse" if several else "What if…"
            ui.label(f"{title} after #{said.post} by {display_text(said.name, 60)}").classes("panel-title").props(
                "role=heading aria-level=2"
            )
            if several:
                count = ui.number("How many continuations", value=3, min=1, max=MOST, step=1, format="%d")
                test_id(count, "multiverse-count").props("dense outlined").classes("w-full")
            else:
                count = None
            who = test_id(ui.radio(choices, value="draw" if several else "troll"), "whatif-who").props("dense")
            person = ui.select(self._people(said), label="Who", with_input=True).props("dense outlined")
            test_id(person, "whatif-person").classes("w-full")
            described = test_id(ui.input("Who, such as “a beginner”"), "whatif-described").props("dense outlined")
            described.classes("w-full")
            words = ui.textarea("What they say; empty: the model writes it").props("dense outlined autogrow")
            test_id(words, "whatif-words").classes("w-full")
            model = ui.input("Model", value=regime.model if regime.decider == "model" else "").props("dense outlined")
            test_id(model, "whatif-model").classes("w-full")
            judge = ui.input("Model that judges all of them; empty: nobody").props("dense outlined").classes("w-full")
            test_id(judge, "multiverse-judge").set_visibility(several)
            line = test_id(ui.label().classes("commandline wrapped w-full"), "whatif-command")
            waiting = ui.row().classes("items-center gap-2")
            with waiting:
                ui.spinner(size="sm")
                ui.label("The fork is being started.").classes("soft small")
            waiting.set_visibility(False)

            def wanted() -> tuple[str, ...]:
                other = (model.value or "").strip()
                return arguments(
                    self.run,
                    said.post,
                    who=_WORDS.get(who.value, (described.value or "") if who.value == "other" else ""),
                    person=str(person.value or "") if who.value == "person" else "",
                    line=(words.value or "") if who.value != "draw" else "",
                    count=int(count.value or 0) if count is not None else 0,
                    model="" if other == regime.model else other,
                    judge=(judge.value or "") if several else "",
                )

            def follow() -> None:
                person.set_visibility(who.value == "person")
                described.set_visibility(who.value == "other")
                words.set_visibility(who.value != "draw")
                line.set_text(display_text(command(*wanted())))

            @notify_errors
            async def start() -> None:
                _check(who.value, person.value, described.value, words.value, count.value if count else 1)
                button.disable()
                waiting.set_visibility(True)
                try:
                    target = await self._start(said.post, wanted(), several)
                finally:
                    if not button.is_deleted:
                        button.enable()
                        waiting.set_visibility(False)
                dialog.close()
                ui.navigate.to(target)

            for field in (who, person, described, words, model, judge, *([count] if count is not None else [])):
                field.on_value_change(follow)
            follow()
            with ui.row().classes("justify-end w-full gap-2"):
                ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
                button = test_id(ui.button("Start", on_click=start).props("no-caps unelevated"), "whatif-start")
        dialog.on("hide", dialog.delete)
        dialog.open()

    async def _start(self, post: int, wanted: tuple[str, ...], several: bool) -> str:
        """Start the command; the address where what it makes is shown."""
        before = frozenset(self.studio.library.forks(self.run))
        job = self.studio.jobs.start(*wanted)
        BEFORE[job] = before
        first = await job.wait_for_run()
        if not several:
            return forum_address(self.run, "whatif", **{"post": post, "with": first})
        number = self.studio.jobs.started.index(job)
        return forum_address(self.run, "multiverse", post=post, job=number)

    def _people(self, said: ForumPost) -> dict[str, str]:
        """Who could answer: everybody but the author, those who write most first."""
        members = self.view().members().head(_MOST_PEOPLE)
        return {str(row["id"]): display_text(row["name"], 60) for row in members.to_dicts() if row["id"] != said.author}


def _check(who: str, person: object, described: str | None, words: str | None, count: object) -> None:
    if who == "person" and not person:
        raise UsageError("somebody has to be chosen.", "Pick a member of the community.")
    if who == "other" and not (described or "").strip():
        raise UsageError("whoever answers has to be described.", "Such as: a beginner who is in a hurry.")
    if who == "own" and not (words or "").strip():
        raise UsageError("own words have to be written.", "Write what is answered.")
    if not isinstance(count, int | float) or not 1 <= count <= MOST:
        raise UsageError(f"{count} continuations cannot be made.", f"Ask for 1 to {MOST}.")
