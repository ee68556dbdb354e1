"""A town in which people go out by themselves, whatever they have been told."""

from __future__ import annotations

from populace import Field
from populace.base.randomness import path_key, person_keys, uniforms
from populace.minds import Action
from populace.scenarios.party import Party


class Midday(Party):
    """The town until three in the afternoon."""

    def length(self) -> int:
        return 60


class Outings(Party):
    """Every resident is at the place of the event with a chance, in runs with the news and without it alike.

    With `pull`, the chance is larger where the host was told: a planted effect. The run ends at eight in the morning.
    """

    pull: float = Field(0.0, ge=0, le=0.6)

    def length(self) -> int:
        return 18

    def _go_by_rule(self) -> None:
        occasion = self.occasions[0]
        if self.seconds != occasion.begins:
            return
        # The two runs of a pair draw anew: where they differ, they differ by chance.
        draws = uniforms(path_key(self.stage.settings.seed, f"outing/{self.told}"), person_keys(self.people.ids))
        place = occasion.places(self.town)[1]
        for who, draw in zip(self.ids, draws, strict=True):
            where = place if draw < 0.4 + self.pull * self.told else int(self.homes[self.row[who]])
            self.agenda.begin(who, Action(self.seconds, occasion.ends or 0, self.town.address(where), "be out"))
            self.presence.send([self.row[who]], [where], self.seconds)
