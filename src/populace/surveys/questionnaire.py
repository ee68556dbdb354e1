"""A questionnaire: blocks of items, with the order in which people meet them.

A questionnaire is a YAML file, a CSV file for simple ones, or a mapping. It becomes part of the run's manifest.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pydantic
from pydantic import Field

from populace.base.document_lines import add_line, at_entry, csv_line
from populace.base.documents import MAX_YAML_BYTES, DocumentError, parse_json_object, parse_yaml, read_text
from populace.base.errors import QuestionnaireError, UnknownNameError, UsageError, nearest
from populace.base.plain_data import plain_message
from populace.surveys.conditions import check_form, condition_columns
from populace.surveys.items import END, ITEM_TYPES, AnyItem, Item, Part
from populace.surveys.variables import Variable

RESERVED_IDS = frozenset(
    "people question given rule invalid temperature purpose profile id model decider earlier weight end".split()
)
"""Names that a prompt, a population or a run uses for something else."""

_IF_UNREADABLE = "Put texts with signs such as ? : # { in quotes; the file has to be UTF-8."
_CSV_LISTS = ("options", "rows", "anchors")


class Block(Part):
    """Items that belong together.

    Attributes:
        name: Its name; the prompts do not show it.
        items: Its items.
        order: Whether its items come in the order of the file (`fixed`) or in a random order for each person.
        show_if: Who is asked any of its items, as a condition; everybody by default.
        anchored: Whether it keeps its place where blocks come in random order.
    """

    name: str = ""
    items: tuple[AnyItem, ...] = Field(min_length=1)
    order: Literal["fixed", "random"] = "fixed"
    show_if: Mapping[str, Any] = Field(default_factory=dict)
    anchored: bool = False

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        try:
            check_form(self.show_if)
        except UsageError as error:
            raise ValueError(f"show_if: {error.what}") from error
        return self


class Questionnaire(Part):
    """The questions of a survey.

    Attributes:
        title: Its title.
        introduction: What people are told before every question.
        profile: Who a person is, as a template over the columns of the respondents; by default all their columns are
            listed.
        carry: Whether people are reminded of what they answered before.
        block_order: Whether blocks come in the order of the file (`fixed`) or in a random order for each person.
        blocks: The items. A file may list `items` in place of blocks.

    Example:
        >>> trust = {"id": "trust", "type": "single", "text": "Can most people be trusted?", "options": ["yes", "no"]}
        >>> [item.id for item in Questionnaire.model_validate({"items": [trust]}).items]
        ['trust']
    """

    metavar: ClassVar[str] = "FILE"

    title: str = "Survey"
    introduction: str = "You take part in a survey."
    profile: str = ""
    carry: bool = True
    block_order: Literal["fixed", "random"] = "fixed"
    blocks: tuple[Block, ...] = Field(min_length=1)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        if is_json(value):
            value = parse_json_object(value)
        if isinstance(value, (str, Path)):
            value = _read(Path(value))
        if isinstance(value, Mapping) and "items" in value:
            if "blocks" in value:
                raise ValueError("a questionnaire has either items or blocks")
            value = {key: entry for key, entry in value.items() if key != "items"} | {
                "blocks": [{"items": value["items"]}]
            }
        return value

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        _check_items(self)
        return self

    @classmethod
    def read(cls, source: "str | Path | Mapping[str, Any] | Questionnaire") -> "Questionnaire":
        """A questionnaire from a YAML or CSV file, or from a mapping.

        Raises:
            QuestionnaireError: If the file cannot be read or an item is wrong; the text names the file and the item.
        """
        if isinstance(source, Questionnaire):
            return source
        try:
            return cls.model_validate(source)
        except pydantic.ValidationError as error:
            problem: UsageError = QuestionnaireError(first_problem(error))
            problem.entry, problem.__cause__ = tuple(error.errors()[0]["loc"]), error
        except (QuestionnaireError, UnknownNameError) as error:
            problem = error
        except DocumentError as error:
            problem = QuestionnaireError(f"{error}.", "Name a file, or write the questionnaire as JSON.")
        add_place(problem, source)
        raise problem

    @property
    def items(self) -> tuple[Item, ...]:
        """All items in the order of the file."""
        return tuple(item for block in self.blocks for item in block.items)

    @property
    def variables(self) -> list[Variable]:
        """The columns that the answers fill, in the order of the file."""
        return [variable for item in self.items for variable in item.variables()]

    def sequences(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The order of the items for each person: a row for each person, with the places of the items in the file."""
        sizes = [len(block.items) for block in self.blocks]
        block_of = np.repeat(np.arange(len(sizes)), sizes)
        within = np.tile(np.concatenate([np.arange(size) for size in sizes]), (count, 1))
        for number, block in enumerate(self.blocks):
            if block.order == "random":
                places = np.flatnonzero(block_of == number)
                within[:, places] = rng.permuted(within[:, places], axis=1)
        ranks = np.tile(np.arange(len(sizes)), (count, 1))
        if self.block_order == "random":
            movable = np.array([number for number, block in enumerate(self.blocks) if not block.anchored], np.int64)
            ranks[:, movable] = rng.permuted(ranks[:, movable], axis=1)
        return np.argsort(ranks[:, block_of] * (max(sizes) + 1) + within, axis=1, kind="stable")


def _check_items(questionnaire: Questionnaire) -> None:
    """Check each item against the others; an error is about the entry of the item."""
    shared = _Shared.of(questionnaire)
    place = 0
    for number, block in enumerate(questionnaire.blocks):
        for row, item in enumerate(block.items):
            with at_entry("blocks", number, "items", row):
                _check_id(item, place, shared)
                _check_skip(item, place, questionnaire, shared)
                _check_columns(item, place, questionnaire, shared)
            place += 1


class _Shared(NamedTuple):
    """What the checks of an item need to know of the others.

    Attributes:
        ids: The ids of the items, in the order of the file.
        places: The place of each id.
        blocks: The number of the block of each place.
        owners: For each column that answers fill, the place of the first item that fills it.
    """

    ids: list[str]
    places: dict[str, int]
    blocks: list[int]
    owners: dict[str, int]

    @classmethod
    def of(cls, questionnaire: Questionnaire) -> Self:
        owners: dict[str, int] = {}
        for place, item in enumerate(questionnaire.items):
            for variable in item.variables():
                owners.setdefault(variable.name, place)
        ids = [item.id for item in questionnaire.items]
        blocks = [number for number, block in enumerate(questionnaire.blocks) for _ in block.items]
        return cls(ids, {name: place for place, name in enumerate(ids)}, blocks, owners)


def _check_id(item: Item, place: int, shared: _Shared) -> None:
    if item.id in shared.ids[:place]:
        raise QuestionnaireError(f"two items have the id {item.id!r}.", "Give each item an id of its own.")
    if item.id in RESERVED_IDS:
        raise QuestionnaireError(f"{item.id!r} cannot be the id of an item: it has a meaning of its own.", "Rename it.")
    for variable in item.variables():
        first = shared.ids[shared.owners[variable.name]]
        if first != item.id or (variable.name in shared.places and variable.name != item.id):
            other = first if first != item.id else variable.name
            raise QuestionnaireError(
                f"the items {other!r} and {item.id!r} would both fill the column {variable.name!r}.",
                "Rename one of them.",
            )


def _check_skip(item: Item, place: int, questionnaire: Questionnaire, shared: _Shared) -> None:
    for answer, target in item.skip.items():
        where = f"item {item.id!r} skips to {target!r} after {answer!r}"
        if target == END:
            continue
        if target not in shared.places:
            raise UnknownNameError("item to skip to", target, shared.places, f"Named by item {item.id!r}.")
        if shared.places[target] <= place:
            raise QuestionnaireError(f"{where}, which does not come later.", "Skip to a later item, or to `end`.")
        block = questionnaire.blocks[shared.blocks[shared.places[target]]]
        if block.order == "random" or not _always_before(questionnaire, shared, place, shared.places[target]):
            raise QuestionnaireError(
                f"{where}, whose place is random.", "Skip to an item with a fixed place, to `end`, or use show_if."
            )


def _always_before(questionnaire: Questionnaire, shared: _Shared, first: int, second: int) -> bool:
    """Whether every person meets the item at one place of the file before that at another place."""
    one, other = shared.blocks[first], shared.blocks[second]
    blocks = questionnaire.blocks
    if one == other:
        return first < second and blocks[one].order == "fixed"
    if questionnaire.block_order == "fixed":
        return first < second
    # A block that is not anchored may stand wherever one of these stands.
    movable = [number for number, block in enumerate(blocks) if not block.anchored]
    latest = one if blocks[one].anchored else movable[-1]
    earliest = other if blocks[other].anchored else movable[0]
    return latest < earliest


def _check_columns(item: Item, place: int, questionnaire: Questionnaire, shared: _Shared) -> None:
    """Refuse conditions and texts that name an item which a person has not met by then."""
    block = questionnaire.blocks[shared.blocks[place]]
    uses = [(name, "show_if") for name in condition_columns(item.show_if)]
    uses += [(name, "its text") for name in item.fields()]
    uses += [(name, "the block's show_if") for name in condition_columns(block.show_if)]
    uses += [(n, "screen_out_if") for n in condition_columns(item.screen_out_if) if shared.owners.get(n) != place]
    for name, use in uses:
        if name in shared.owners and not _always_before(questionnaire, shared, shared.owners[name], place):
            raise QuestionnaireError(
                f"item {item.id!r}: {use} names {name!r}, which a person may not have answered by then.",
                "Name an item that always comes earlier.",
            )


def is_json(source: Any) -> bool:
    """Whether a text is a JSON object in place of the name of a file, as reports write it into a command."""
    return isinstance(source, str) and source.lstrip().startswith("{")


def add_place(error: UsageError, source: Any) -> None:
    """Put before the text of an error where it lies: the file and the line, as far as there are such."""
    if not isinstance(source, (str, Path)) or is_json(source):
        error.what = f"the questionnaire: {error.what}"
        error.args = (error.what,)
        return
    path = Path(source)
    row = next((part for part in error.entry[3:4] if isinstance(part, int)), None)
    add_line(error, path, csv_line(path, row) if row is not None and path.suffix.lower() == ".csv" else None)


def first_problem(error: pydantic.ValidationError) -> str:
    """What is wrong with a questionnaire, in words: the item or key, and the rule that it breaks."""
    errors = error.errors()
    # A key with a wrong name leaves another one missing.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    message = plain_message(dict(first))
    if first["type"] == "union_tag_not_found":
        message += f"; write one of {', '.join(ITEM_TYPES)}"
    entry = first.get("input")
    if first["type"] == "extra_forbidden":
        return f"{_place_words(first['loc'])}: {message}.{_known_keys(first['loc'])}"
    value = f" ({entry!r})" if isinstance(entry, (str, int, float, bool)) else ""
    place = _place_words(first["loc"])
    if first["loc"][-1:] in (("show_if",), ("screen_out_if",)) and not isinstance(entry, Mapping):
        value += f"; write it as an item and its answer, such as `{first['loc'][-1]}: {{car: no}}`"
    return f"{place}: {message}{value}." if place else f"{message}{value}."


def _known_keys(place: tuple[int | str, ...]) -> str:
    """The keys that stand where an unknown one was written, as a sentence; empty where it is no item's."""
    parts = place[1:] if place[:1] == ("questionnaire",) else place
    if parts[:1] != ("blocks",) or len(parts) != 6:
        return ""
    kind, key = str(parts[4]), str(parts[5])
    keys = [each for each in ITEM_TYPES[kind].model_fields if each != "type"]
    # What only this type has stands first.
    keys.sort(key=lambda each: each in Item.model_fields)
    guess = nearest(key, keys)
    return f" Did you mean {guess}?" if guess else f" An item of the type {kind} takes {', '.join(keys)}."


def _place_words(place: tuple[int | str, ...]) -> str:
    """A place in a questionnaire, such as `item 2, options`; empty where the message names the item itself."""
    parts = list(place[1:] if place[:1] == ("questionnaire",) else place)
    if parts[:1] != ["blocks"] or len(parts) < 4:
        return ".".join(str(part) for part in place)
    block, item, keys = parts[1], parts[3], parts[5:]
    if not keys and len(parts) == 5:
        return ""
    where = f"item {int(item) + 1}" if block == 0 else f"block {int(block) + 1}, item {int(item) + 1}"
    return ", ".join([where, ".".join(str(key) for key in keys)] if keys else [where])


def _read(path: Path) -> Any:
    """The content of a questionnaire file."""
    if not path.is_file():
        raise QuestionnaireError(f"there is no file {path}.", "Name a YAML or CSV file, or an instrument.")
    if path.suffix.lower() not in (".csv", ".yaml", ".yml", ".json"):
        raise QuestionnaireError(f"{path.name} is neither YAML nor CSV.", "Name it .yaml or .csv.")
    try:
        text = read_text(path, most=MAX_YAML_BYTES)
        if path.suffix.lower() == ".csv":
            return {"title": path.stem, "items": _csv_items(text)}
        content = parse_yaml(text, words=True)
    except (OSError, DocumentError) as error:
        raise QuestionnaireError(f"it could not be read: {error}.", _IF_UNREADABLE) from error
    if not isinstance(content, Mapping):
        raise QuestionnaireError("it does not hold a questionnaire.", "Begin with `title:` and `items:`.")
    return content


def _csv_items(text: str) -> list[dict[str, Any]]:
    """The items of a CSV file: a row for each item; lists are separated by `|`, and empty cells are left out."""
    items = []
    for row in csv.DictReader(text.splitlines()):
        item: dict[str, Any] = {key.strip(): cell.strip() for key, cell in row.items() if key and cell and cell.strip()}
        for key in _CSV_LISTS:
            if key in item:
                item[key] = [part.strip() for part in item[key].split("|")]
        item.setdefault("type", "single" if "options" in item else "text")
        items.append(item)
    if not items:
        raise QuestionnaireError("it holds no item.", "The first line names the columns: id,type,text,options.")
    return items
