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
        'speak (to Ann, text Good morning!)'
    """

    to: Annotated[str, Among("people")] = Field(description="To whom do you speak?")
    text: str = Field(min_length=1, max_length=2000, description="What do you say?")


class Move(BaseAction):
    """Go to another place.

    Example:
        >>> Move(to="harbour").phrase()
        'move (to harbour)'
    """

    to: Annotated[str, Among("places")] = Field(description="Where do you go?")


class Use(BaseAction):
    """Use a thing that is here, or that you carry.

    Example:
        >>> Use(thing="stove", so_that_it_is="hot").phrase()
        'use (thing stove, so that it is hot)'
    """

    thing: Annotated[str, Among("things")] = Field(description="Which thing do you use?")
    so_that_it_is: str = Field(
        min_length=1, max_length=60, description="In what state is it afterwards, in one or two words?"
    )


class Give(BaseAction):
    """Give something that you carry to somebody who is here.

    Example:
        >>> Give(to="Ann", thing="apple").phrase()
        'give (to Ann, thing apple)'
    """

    to: Annotated[str, Among("people")] = Field(description="To whom do you give something?")
    thing: Annotated[str, Among("belongings")] = Field(description="What do you give?")


class Post(BaseAction):
    """Write something on the board, where everybody can read it.

    Example:
        >>> Post(text="Who has seen my cat?").phrase()
        'post (text Who has seen my cat?)'
    """

    text: str = Field(min_length=1, max_length=2000, description="What do you write?")
