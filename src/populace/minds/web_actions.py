"""The actions of people who use a web page: click an element, type into a field and submit, or leave.

They are those of a browser, not of a shop: the page says which elements there are, each by its hierarchical name.
"""

from typing import Annotated

from pydantic import Field

from populace.minds.action_kinds import Among, BaseAction


class Click(BaseAction):
    """Click a link or a button of the page.

    Example:
        >>> Click(element="results.tea_pot.view").phrase()
        'click results.tea_pot.view'
    """

    element: Annotated[str, Among("elements")] = Field(description="Which element do you click?")

    def phrase(self) -> str:
        """The action in words."""
        return f"click {self.element}"


class TypeAndSubmit(BaseAction):
    """Type a text into an input field of the page and submit it.

    Example:
        >>> TypeAndSubmit(element="header.search", text="tea pot").phrase()
        'type "tea pot" into header.search and submit it'
    """

    element: Annotated[str, Among("inputs")] = Field(description="Into which field do you type?")
    text: str = Field(min_length=1, max_length=200, description="What do you type, in a few words?")

    def phrase(self) -> str:
        """The action in words."""
        return f'type "{self.text}" into {self.element} and submit it'


class Terminate(BaseAction):
    """Leave the page and end the session.

    Example:
        >>> Terminate().phrase()
        'terminate'
    """


WEB_ACTIONS: tuple[type[BaseAction], ...] = (Click, TypeAndSubmit, Terminate)
"""The three actions of a web session."""
