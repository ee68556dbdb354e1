"""The actions that ship: speaking, moving, using a thing, giving and posting.

`Surroundings` in `populace.worlds` carries them out; a world of your own has a method of the same name for each.
"""

from typing import Annotated

from pydantic import Field

from populace.minds.action_kinds import Among, BaseAction


class Speak(BaseAction):
    """Say something to somebody who is here.

    Example:
        >>> Speak(to="Ann", text="Good morning!").phrase()
        'tell Ann: "Good morning!"'
    """

    to: Annotated[str, Among("people")] = Field(description="To whom do you speak?")
    text: str = Field(min_length=1, max_length=2000, description="What do you say?")

    def phrase(self) -> str:
        """The action in words."""
        return f'tell {self.to}: "{self.text}"'


class Move(BaseAction):
    """Go to another place.

    Example:
        >>> Move(to="harbour").phrase()
        'go to harbour'
    """

    to: Annotated[str, Among("places")] = Field(description="Where do you go?")

    def phrase(self) -> str:
        """The action in words."""
        return f"go to {self.to}"


class Use(BaseAction):
    """Use a thing that is here, or that you carry.

    Example:
        >>> Use(thing="stove", so_that_it_is="hot").phrase()
        'use the stove'
    """

    thing: Annotated[str, Among("things")] = Field(description="Which thing do you use?")
    so_that_it_is: str = Field(
        min_length=1, max_length=60, description="In what state is it afterwards, in one or two words?"
    )

    def phrase(self) -> str:
        """The action in words."""
        return f"use the {self.thing}"


class Give(BaseAction):
    """Give something that you carry to somebody who is here.

    Example:
        >>> Give(to="Ann", thing="apple").phrase()
        'give Ann the apple'
    """

    to: Annotated[str, Among("people")] = Field(description="To whom do you give something?")
    thing: Annotated[str, Among("belongings")] = Field(description="What do you give?")

    def phrase(self) -> str:
        """The action in words."""
        return f"give {self.to} the {self.thing}"


class Post(BaseAction):
    """Write something on the board, where everybody can read it.

    Example:
        >>> Post(text="Who has seen my cat?").phrase()
        'write on the board: "Who has seen my cat?"'
    """

    text: str = Field(min_length=1, max_length=2000, description="What do you write?")

    def phrase(self) -> str:
        """The action in words."""
        return f'write on the board: "{self.text}"'
