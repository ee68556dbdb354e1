"""The dialog behind *What if…* and *Multiverse*: who answers a post, with which words, how many times."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from nicegui import ui

from populace.base.errors import UsageError
from populace.studio.jobs import CommandJob, command
from populace.studio.pages.forum.data import ForumPost, ForumView
from populace.studio.pages.forum.post import forum_address
from populace.studio.pages.whatif.data import continuation_command
from populace.studio.shell.frame import test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, disable_during, heading, note, outline

_RESPONDERS = {
    "troll": "A troll",
    "moderator": "A moderator",
    "person": "Somebody of the community",
    "own": "You, in your own words",
    "other": "Somebody else, described in words",
    "draw": "Whoever comes, by another draw",
}
_DESCRIPTIONS = {"troll": "a troll", "moderator": "a moderator"}
_MAX_PEOPLE = 1_000
_MAX_COUNT = 12
EARLIER_FORKS: WeakKeyDictionary[CommandJob, frozenset[str]] = WeakKeyDictionary()
"""The forks that existed before a command made more of them."""


class ContinuationDialog:
    """Asks how a post is to be continued in another way, and starts the command.

    Args:
        studio: The Studio.
        run: The run.
        view: Returns its community as the page shows it.
    """

    def __init__(self, studio: Studio, run: str, view: Callable[[], ForumView]) -> None:
        self.studio, self.run, self.view = studio, run, view
        # Dialogs live outside of what is drawn again while the run goes on.
        self._host = ui.element("div")

    def open(self, post: ForumPost, several: bool) -> None:
        """Open the dialog for a post; several for a multiverse."""
        regime = self.view().run.manifest.regime
        responders = {key: text for key, text in _RESPONDERS.items() if several or key != "draw"}
        with self._host, ui.dialog() as dialog, ui.card().classes("w-full gap-3").style("max-width: 560px"):
            title = "Multiverse" if several else "What if…"
            heading(f"{title} after #{post.post} by {display_text(post.name, 60)}")
            count = ui.number("How many continuations", value=3, min=1, max=_MAX_COUNT, step=1, format="%d")
            outline(count, "multiverse-count").set_visibility(several)
            who = test_id(ui.radio(responders, value="draw" if several else "troll"), "whatif-who").props("dense")
            person = outline(ui.select(self._people(post), label="Who", with_input=True), "whatif-person")
            described = outline(ui.input("Who, such as “a beginner”"), "whatif-described")
            words = outline(ui.textarea("What they say; empty: the model writes it"), "whatif-words").props("autogrow")
            model = ui.input("Model", value=regime.model if regime.decider == "model" else "")
            outline(model, "whatif-model")
            judge = outline(ui.input("Model that judges all of them; empty: nobody"), "multiverse-judge")
            judge.set_visibility(several)
            line = test_id(ui.label().classes("commandline wrapped w-full"), "whatif-command")
            with ui.row().classes("items-center gap-2") as waiting:
                ui.spinner(size="sm")
                note("The fork is being started.")
            waiting.set_visibility(False)

            def arguments() -> tuple[str, ...]:
                other = (model.value or "").strip()
                return continuation_command(
                    self.run,
                    post.post,
                    who=_DESCRIPTIONS.get(who.value, (described.value or "") if who.value == "other" else ""),
                    person=str(person.value or "") if who.value == "person" else "",
                    line=(words.value or "") if who.value != "draw" else "",
                    count=int(count.value or 0) if several else 0,
                    model="" if other == regime.model else other,
                    judge=(judge.value or "") if several else "",
                )

            def update() -> None:
                person.set_visibility(who.value == "person")
                described.set_visibility(who.value == "other")
                words.set_visibility(who.value != "draw")
                line.set_text(display_text(command(*arguments())))

            async def start() -> None:
                _check(who.value, person.value, described.value, words.value, count.value)
                with disable_during(button, waiting):
                    target = await self._start(post.post, arguments(), several)
                dialog.close()
                ui.navigate.to(target)

            for field in (count, who, person, described, words, model, judge):
                field.on_value_change(update)
            update()
            with ui.row().classes("justify-end w-full gap-2"):
                action("Cancel", dialog.close, look="flat")
                button = action("Start", start, "whatif-start", look="unelevated")
        dialog.on("hide", dialog.delete)
        dialog.open()

    async def _start(self, post: int, arguments: tuple[str, ...], several: bool) -> str:
        """Start the command, and return the address that shows its forks."""
        earlier = frozenset(self.studio.library.forks(self.run))
        job = self.studio.jobs.start(*arguments)
        EARLIER_FORKS[job] = earlier
        first = await job.wait_for_run()
        if not several:
            return forum_address(self.run, "whatif", **{"post": post, "with": first})
        return forum_address(self.run, "multiverse", post=post, job=self.studio.jobs.started.index(job))

    def _people(self, post: ForumPost) -> dict[str, str]:
        """Who can answer: everybody but the author, those who write most first."""
        members = self.view().members().head(_MAX_PEOPLE).select("id", "name")
        return {str(who): display_text(name, 60) for who, name in members.iter_rows() if who != post.author}


def _check(who: str, person: object, described: str | None, words: str | None, count: object) -> None:
    if who == "person" and not person:
        raise UsageError("nobody is chosen.", "Choose a member of the community.")
    if who == "other" and not (described or "").strip():
        raise UsageError("the person who answers is not described.", "Such as: a beginner who is in a hurry.")
    if who == "own" and not (words or "").strip():
        raise UsageError("your own words are missing.", "Write the answer.")
    if not isinstance(count, int | float) or not 1 <= count <= _MAX_COUNT:
        raise UsageError(f"{count} continuations cannot be made.", f"Ask for 1 to {_MAX_COUNT}.")
