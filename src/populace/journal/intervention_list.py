"""Lists of interventions: read from JSON text, from a file or from plain data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import pydantic

from populace.base.documents import DocumentError, parse_json, read_text
from populace.base.errors import InterventionError, UnknownNameError
from populace.base.plain_data import plain_message
from populace.journal.intervention import Intervention
from populace.journal.interventions import (
    AddPeople,
    Announce,
    ChangeParameters,
    ChangeThing,
    InnerVoice,
    RemovePeople,
    SetColumns,
    SwapModel,
)

AnyIntervention = Annotated[
    Announce | InnerVoice | ChangeThing | SetColumns | AddPeople | RemovePeople | ChangeParameters | SwapModel,
    pydantic.Field(discriminator="kind"),
]
_LIST: pydantic.TypeAdapter[list[AnyIntervention]] = pydantic.TypeAdapter(list[AnyIntervention])


_KINDS = tuple(each.model_fields["kind"].default for each in get_args(get_args(AnyIntervention)[0]))
_EXAMPLES = {
    "announce": '"at": 3, "text": "Today is green day."',
    "think": '"at": 3, "text": "You want to run for mayor."',
    "thing": '"at": 20, "place": "Larch Lane 4 > kitchen > stove", "state": "burning"',
    "set": '"at": 2, "values": {"shirt": "green"}, "to": {"share": 0.5}',
    "add": '"at": 4, "people": [{"name": "Ada"}]',
    "remove": '"at": 5, "to": {"ids": [3]}',
    "change": '"at": 3, "parameters": {"days": 9}',
    "swap": '"at": 3, "model": "embedded"',
}


def is_file_name(source: str) -> bool:
    """Whether interventions are given as the name of a file, not as JSON text.

    Example:
        >>> is_file_name("announcements.json"), is_file_name('{"kind": "announce"}')
        (True, False)
    """
    return not source.lstrip().startswith(("{", "["))


def read_interventions(source: str | Path | list[Intervention | Mapping[str, Any]]) -> list[AnyIntervention]:
    """Interventions from JSON text, a JSON file or plain data; a single one may stand without brackets.

    Example:
        >>> read_interventions('{"kind": "announce", "at": 3, "text": "Wear green."}')[0].at
        3
    """
    data: Any = source
    if isinstance(source, (str, Path)):
        text = str(source)
        is_file = is_file_name(text)
        try:
            data = parse_json(read_text(Path(text)) if is_file else text)
        except OSError as error:
            raise InterventionError(
                f"the interventions in {text} cannot be read: {error.strerror}.",
                f"Name a JSON file, or write the JSON in quotes. {_example()}",
            ) from error
        except DocumentError as error:
            raise InterventionError(
                f"the interventions{f' in {text}' if is_file else ''} are not JSON that can be used: {error}.",
                _example(),
            ) from error
    try:
        return _LIST.validate_python(data if isinstance(data, list) else [data])
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        number, *inside = first["loc"] or (0,)
        if first["type"] == "union_tag_invalid":
            unknown = UnknownNameError("kind of intervention", first["ctx"]["tag"], _KINDS)
            raise InterventionError(unknown.what, unknown.hint) from error
        where = f" ({'.'.join(map(str, inside))})" if inside else ""
        hint = _example(str(inside[0]) if inside else "announce")
        raise InterventionError(f"intervention {int(number) + 1}{where}: {plain_message(first)}.", hint) from error


def _example(kind: str = "announce") -> str:
    return f'Write a list of interventions, each like {{"kind": "{kind}", {_EXAMPLES[kind]}}}'
