"""How adapters are listed and described on the command line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from populace.base.formatting import compact_json
from populace.cli.output import bold, dim, facts, out, report_json, warn
from populace.models.adapter_card import ADAPTER_KINDS, AdapterCard
from populace.models.adapter_listing import AdapterEntry, describe_adapter

_LINES = {"data", "kind", "figures", "licence", "curve"}
_MOST_FIGURES = 4
_MOST_NAMES = 8


def adapter_document(entry: AdapterEntry) -> dict[str, Any]:
    """An adapter as a JSON document."""
    document: dict[str, Any] = {"name": entry.name, "path": str(entry.path), "place": entry.place}
    if entry.card is None:
        return document | {"problem": entry.problem}
    card = entry.card
    base = {"name": card.base_name, "sha256": card.base_sha256}
    sharing = {name: getattr(card.sharing, name) for name in ("allowed", "under", "reasons")}
    document |= {"model": entry.model, "base": base, "kind": card.kind, "licence": card.licence, "sharing": sharing}
    return document | {"manifest": dict(card.manifest)}


def show_adapters(entries: Sequence[AdapterEntry]) -> None:
    """List adapters, each with what it was trained on and its first figures."""
    out.print_line("\n", bold("Adapters"), " change a model: --model embedded+NAME")
    if not entries:
        out.print_line("  none here; docs/concepts/adapters.md says how one is made or added")
    for entry in entries:
        if entry.card is None:
            warn(entry.problem)
            continue
        card = entry.card
        names = ", ".join(str(each.get("name", "?")) for each in card.data)
        rows = [("model", entry.model), ("kind", f"{card.kind}: {ADAPTER_KINDS[card.kind]}")]
        rows += [("base", card.base_name)]
        rows += [("data", f"{names} ({', '.join(card.licences) or 'no licence named'})")] if names else []
        rows += licence_rows(card)
        scores = [f"{name} {value}" for name, value in list(_leaves(card.figures))[:_MOST_FIGURES]]
        rows += [("figures", ", ".join(scores))] if scores else []
        out.print_line("  ", bold(card.name), f" ({entry.place})")
        facts(rows)
    if entries:
        out.print_line("\n", dim("  all that one says of itself: "), " populace models --describe NAME")


def licence_rows(card: AdapterCard) -> list[tuple[str, str]]:
    """The licence of an adapter, and whether its data allow to pass it on."""
    sharing = card.sharing
    problem = sharing.problem(card.licence) if card.licence and sharing.allowed else None
    against = f"; but {problem}" if problem else ""
    return [("licence", f"{card.licence or 'none named'}{against}"), ("sharing", sharing.description)]


def show_card(name: str) -> None:
    """Show all that an adapter says of itself."""
    entry = describe_adapter(name)
    report_json(adapter_document(entry))
    card = entry.card
    if card is None:
        return
    out.print_line(bold(card.name), f", an adapter for {card.base_name}")
    facts(
        [
            ("model", entry.model),
            ("file", str(entry.path)),
            ("base", card.base_sha256 or "not named"),
            ("kind", f"{card.kind}: {ADAPTER_KINDS[card.kind]}"),
            *licence_rows(card),
        ]
    )
    assumption = card.assumption(entry.model)
    if assumption:
        warn(assumption)
    for each in card.data:
        values = [f"{key} {_short_text(value)}" for key, value in each.items() if key != "name"]
        facts([("data", f"{each.get('name', '?')}: {', '.join(values)}" if values else str(each.get("name", "?")))])
    facts([("figure", f"{name} {value}") for name, value in _leaves(card.figures)])
    facts([(key, _text(value)) for key, value in card.manifest.items() if key not in _LINES and value not in ("", [])])
    curve = card.manifest.get("curve")
    facts(
        [("look", _look_text(look)) for look in curve if isinstance(look, Mapping)] if isinstance(curve, list) else []
    )


def _leaves(figures: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Every single figure with its name; that of one inside others begins with theirs."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}: ")
        else:
            yield f"{before}{name}", f"{value:.3g}" if isinstance(value, float) else _text(value)


def _look_text(look: Mapping[str, Any]) -> str:
    """A look at the training, in one line."""
    return ", ".join(
        f"{name.replace('_', ' ')} {f'{value:.4g}' if isinstance(value, float) else _text(value)}"
        for name, value in look.items()
        if value is not None
    )


def _short_text(value: Any) -> str:
    """A value in one line; of a long list of names, how many there are and the first."""
    if isinstance(value, list) and len(value) > _MOST_NAMES:
        return f"{len(value)}, such as {', '.join(map(str, value[:3]))}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_text(each)}" for key, each in value.items())
    return value if isinstance(value, str) else compact_json(value)
