"""A decision in the terminal: its prompts, distribution, draw and answer."""

from __future__ import annotations

from rich.panel import Panel
from rich.text import Text

from populace.base.formatting import percent
from populace.cli.output import facts, out
from populace.runs.decision import Decision
from populace.runs.reader import RunReader


def show_decision(run: RunReader, decision: Decision) -> None:
    """Print a decision with its prompts and how its answer came about."""
    who = decision.person.get("name", decision.person["id"])
    title = f"[bold]{who}[/bold] in {run.name}, step {decision.step} ({decision.path})"
    out.print(f"{title}: [bold]{decision.answer_text}[/bold]")
    for number, prompt in enumerate(decision.prompts):
        label = "prompt" if len(decision.prompts) == 1 else f"prompt, order {number + 1} of {len(decision.prompts)}"
        body = Text()
        if prompt["system"]:
            body.append(f"{prompt['system']}\n\n", style="cyan")
        body.append(prompt["user"])
        if prompt["reasoning"]:
            body.append(f"\n\n{prompt['reasoning']}", style="italic")
        if prompt["lead"]:
            body.append(f"\n\n{prompt['lead']} …", style="dim")
        panel = Panel(body, title=label, title_align="left", subtitle=prompt["model"], subtitle_align="right")
        out.print(panel, soft_wrap=False)
    facts(_rows(decision))


def _rows(decision: Decision) -> list[tuple[str, str]]:
    rows = [("status", decision.status)]
    if not decision.prompts:
        return [*rows, ("decided by", "a rule or a recording: there is no prompt")]
    first = decision.prompts[0]
    if decision.distribution and decision.draw_distribution:
        how = "labels" if first["labels"] else "words"
        rows.append(
            ("scored by", f"the {how} of the options, {percent(first['mass'] or 0)} of the probability fell on them")
        )
        after = decision.draw_distribution
        for option, probability in decision.distribution.items():
            bar = "█" * round(probability * 30)
            also = (
                f"  → {after[option]:.3f} at temperature {decision.temperature:g}" if decision.temperature != 1 else ""
            )
            rows.append((option, f"{probability:.3f} {bar}{also}"))
        rows.append(("draw", f"{decision.draw:.4f}"))
    elif first["replies"]:
        rows += [("reply" if i == 0 else f"after repair {i}", text) for i, text in enumerate(first["replies"])]
    rows.append(
        ("call", f"{first['call'] or 'none'}  ({first['prompt_tokens']} + {first['completion_tokens']} tokens)")
    )
    return rows
