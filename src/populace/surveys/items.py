"""The items of a questionnaire as data: what each asks, and the variables that its answers fill."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import polars as pl
import pydantic
from pydantic import Field

from populace.base.errors import UsageError
from populace.questions import Allocation, Choice, Number, Question, Rating, Text
from populace.surveys.conditions import Condition, check_form
from populace.surveys.variables import Variable

END = "end"
"""In place of an item's id in `skip`: the questionnaire ends."""

Order = Literal["fixed", "reversed", "random", "rotate"]
Options = Annotated[tuple[str, ...], Field(min_length=2, max_length=26)]


class Part(pydantic.BaseModel):
    """A part of a questionnaire: no unknown keys, and no changes after it was read."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class Item(Part):
    """What every item has.

    Attributes:
        id: Its name, which is the name of its column or the beginning of the names of its columns.
        text: The question; `{id}` stands for the answer to an earlier item or for a column of the respondents.
        show_if: Who is asked, as a condition on earlier answers and columns; everybody by default.
        screen_out_if: Whose survey ends after this item, as a condition.
        skip: The next item for an answer: the answer and the id of a later item, or `end`.
    """

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")
    text: str = Field(min_length=1)
    show_if: Condition = Field(default_factory=dict)
    screen_out_if: Condition = Field(default_factory=dict)
    skip: Mapping[str, str] = Field(default_factory=dict)

    answers_with_one_option: ClassVar[bool] = False

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        if self.skip and not self.answers_with_one_option:
            raise ValueError(f"item {self.id!r}: only an item with one answer out of a list can have a skip")
        try:
            check_form(self.show_if)
            check_form(self.screen_out_if)
            for question in self.questions():
                question.template  # noqa: B018 - reading it checks the text
        except UsageError as error:
            raise ValueError(f"item {self.id!r}: {error.what.removeprefix(f'{self.text!r}: ')}") from error
        return self

    def questions(self) -> list[Question]:
        """The questions behind the item as they are put at first, to check them and to estimate their cost."""
        return self._questions()

    def variables(self) -> list[Variable]:
        """The columns that the answers fill."""
        return self._variables()

    def fields(self) -> tuple[str, ...]:
        """The names in braces in the item's texts."""
        return tuple(dict.fromkeys(name for question in self.questions() for name in question.template.fields))

    def _questions(self) -> list[Question]:
        raise NotImplementedError

    def _variables(self) -> list[Variable]:
        raise NotImplementedError

    def _variable(self, dtype: pl.DataType, categories: tuple[str, ...] = (), **of: str) -> Variable:
        name, label = of.get("name", self.id), of.get("label", self.text)
        return Variable(name, label, self.id, dtype, categories, of.get("part", ""))

    def _variables_of_parts(
        self, dtype: pl.DataType, parts: Mapping[str, str], categories: tuple[str, ...] = (), *, note: str = ""
    ) -> list[Variable]:
        """A column for each option or row, by the ending of its name."""
        return [
            self._variable(dtype, categories, name=f"{self.id}_{ending}", label=f"{self.text} {part}{note}", part=part)
            for ending, part in parts.items()
        ]


def _numbered(parts: Sequence[Any]) -> dict[str, Any]:
    """Options or rows by their place, counted from 1."""
    return {str(place): part for place, part in enumerate(parts, 1)}


class SingleItem(Item):
    """One option out of a list.

    Attributes:
        options: The options.
        order: The order in which they are shown: `fixed`, `reversed`, `random` for each person, or `rotate`, the
            average over all rotations.
    """

    type: Literal["single"] = "single"
    options: Options
    order: Order = "fixed"
    answers_with_one_option: ClassVar[bool] = True

    @pydantic.model_validator(mode="after")
    def _check_skips(self) -> Self:
        unknown = next((answer for answer in self.skip if answer not in self.options), None)
        if unknown is not None:
            raise ValueError(f"item {self.id!r}: the skip names {unknown!r}, which is not one of its options")
        return self

    def _questions(self) -> list[Question]:
        return [Choice(self.text, options=self.options, order=self.order)]

    def _variables(self) -> list[Variable]:
        return [self._variable(pl.String(), self.options)]


class MultipleItem(Item):
    """Any number of options out of a list.

    Without `most`, each option is a question of its own that is answered with yes or no, so every option has an exact
    probability. With `most`, options are chosen one after the other, until the person wants no more.

    Attributes:
        options: The options.
        most: The most options that may be chosen.
    """

    type: Literal["multiple"] = "multiple"
    options: Options
    most: int | None = Field(None, ge=1)
    NONE: ClassVar[str] = "none of these"

    @pydantic.model_validator(mode="after")
    def _check_options(self) -> Self:
        try:
            Choice(self.text, options=(*self.options[:25], self.NONE))
        except UsageError as error:
            raise ValueError(f"item {self.id!r}: {error.what.removeprefix(f'{self.text!r}: ')}") from error
        return self

    def option_question(self, option: str) -> Choice:
        """Whether one option applies."""
        # Braces in an option are text, not fields.
        escaped = option.replace("{", "{{").replace("}", "}}")
        return Choice(f"{self.text}\nThis one: {escaped}. Does it apply to you?", options=("yes", "no"))

    def next_question(self, options: tuple[str, ...]) -> Choice:
        """Which option is chosen next, or none of those that are left."""
        return Choice(self.text, options=(*options, self.NONE))

    def _questions(self) -> list[Question]:
        if self.most is None:
            return [self.option_question(option) for option in self.options]
        return [self.next_question(self.options)] * min(self.most, len(self.options))

    def _variables(self) -> list[Variable]:
        return self._variables_of_parts(pl.Boolean(), _numbered(self.options))


class RatingItem(Item):
    """A point on a scale of whole numbers.

    Attributes:
        low: The lowest point.
        high: The highest point.
        anchors: What the lowest and the highest point mean.
    """

    type: Literal["rating"] = "rating"
    low: int = 1
    high: int = 5
    anchors: tuple[str, str] | None = None

    def _questions(self) -> list[Question]:
        return [Rating(self.text, low=self.low, high=self.high, anchors=self.anchors)]

    def _variables(self) -> list[Variable]:
        return [self._variable(pl.Int64())]


class NumberItem(Item):
    """A number.

    Attributes:
        low: The smallest number allowed.
        high: The largest number allowed.
        unit: The unit, such as "hours".
        whole: Whether only whole numbers count.
    """

    type: Literal["number"] = "number"
    low: float = float("-inf")
    high: float = float("inf")
    unit: str = ""
    whole: bool = False

    def _questions(self) -> list[Question]:
        return [Number(self.text, low=self.low, high=self.high, unit=self.unit, whole=self.whole)]

    def _variables(self) -> list[Variable]:
        return [self._variable(pl.Int64() if self.whole else pl.Float64())]


class TextItem(Item):
    """An answer in one's own words.

    Attributes:
        words: About how many words an answer may have.
    """

    type: Literal["text"] = "text"
    words: int = Field(60, ge=1)

    def _questions(self) -> list[Question]:
        return [Text(self.text, max_words=self.words)]

    def _variables(self) -> list[Variable]:
        return [self._variable(pl.String())]


class GridItem(Item):
    """Several statements with the same answer scale; each row is a question of its own.

    Attributes:
        rows: The statements by the ending of their column's name, or as a list.
        options: The answer scale as words.
        low: The lowest point of a scale of numbers, in place of options.
        high: The highest point.
        anchors: What the lowest and the highest point mean.
    """

    type: Literal["grid"] = "grid"
    rows: Mapping[str, str] = Field(min_length=1)
    options: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    anchors: tuple[str, str] | None = None

    @pydantic.field_validator("rows", mode="before")
    @classmethod
    def _number_rows(cls, value: Any) -> Any:
        return _numbered(value) if isinstance(value, list) else value

    @pydantic.model_validator(mode="after")
    def _check_scale(self) -> Self:
        if bool(self.options) == (self.low is not None and self.high is not None):
            raise ValueError(f"item {self.id!r}: a grid needs either options or both low and high")
        texts = list(self.rows.values())
        twice = next((row for place, row in enumerate(texts) if row in texts[:place]), None)
        if twice is not None:
            raise ValueError(f"item {self.id!r}: the row {twice!r} stands twice")
        return self

    def row_question(self, row: str) -> Choice | Rating:
        """The question of one row."""
        text = f"{self.text}\n{self.rows[row]}"
        if self.options:
            return Choice(text, options=self.options)
        return Rating(text, low=self.low or 0, high=self.high or 0, anchors=self.anchors)

    def _questions(self) -> list[Question]:
        if not self.options and (self.low is None or self.high is None):
            return []
        return [self.row_question(row) for row in self.rows]

    def _variables(self) -> list[Variable]:
        dtype: pl.DataType = pl.String() if self.options else pl.Int64()
        return self._variables_of_parts(dtype, self.rows, self.options)


class RankingItem(Item):
    """Options in the order of preference.

    The first place is a question with all options, the second one with those that are left, and so on; so each place
    has an exact distribution, given the places before it.

    Attributes:
        options: The options.
        top: How many places are asked for; all by default.
    """

    type: Literal["ranking"] = "ranking"
    options: Options
    top: int | None = Field(None, ge=1)

    @property
    def places(self) -> int:
        """How many places are filled; the last option needs no question."""
        return min(self.top or len(self.options), len(self.options))

    def place_question(self, place: int, options: tuple[str, ...]) -> Choice:
        """Which option has a place, counted from 1."""
        return Choice(f"{self.text}\nWhich of these comes in place {place}?", options=options)

    def _questions(self) -> list[Question]:
        count = min(self.places, len(self.options) - 1)
        return [self.place_question(place, self.options) for place in range(1, count + 1)]

    def _variables(self) -> list[Variable]:
        return self._variables_of_parts(pl.Int64(), _numbered(self.options), note=" (rank)")


class AllocationItem(Item):
    """A number of points to be divided among options; an answer whose points do not add up is invalid.

    Attributes:
        options: What the points are given to.
        total: How many points there are.
    """

    type: Literal["allocation"] = "allocation"
    options: Annotated[tuple[str, ...], Field(min_length=2, max_length=12)]
    total: int = Field(100, ge=1)

    def _questions(self) -> list[Question]:
        return [Allocation(self.text, options=self.options, total=self.total)]

    def _variables(self) -> list[Variable]:
        return self._variables_of_parts(pl.Int64(), _numbered(self.options))


_AnyType = SingleItem | MultipleItem | RatingItem | NumberItem | TextItem | GridItem | RankingItem | AllocationItem
AnyItem = Annotated[_AnyType, Field(discriminator="type")]
ITEM_TYPES: dict[str, type[Item]] = {str(each.model_fields["type"].default): each for each in get_args(_AnyType)}
"""The classes of items by what a file calls them."""
