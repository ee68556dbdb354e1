"""The command `correct`: a model is corrected in rounds of simulation, scoring and training."""

from __future__ import annotations

import math
import time

import click

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.cli.interruption import repeatable_command
from populace.cli.options import command, current_workspace, option
from populace.cli.output import facts, out, report_json
from populace.cli.progress import PhaseDisplay, fetch_missing_models


@command("correct", code="needed")
@click.argument("plan", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.option("--to", metavar="FOLDER", help="Where everything is written.  [default: the name of the plan]")
@option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute.")
@click.option("--seeds", metavar="N,N", help="Only these seeds of the plan, for now.  [default: all]")
def correct_command(plan: str, to: str | None, device: str, seeds: str | None) -> None:
    from populace.training.base_network import choose_device
    from populace.training.correction import Correction, RoundResult
    from populace.training.correction_plan import CorrectionPlan
    from populace.training.correction_report import changes, correction_report, results_table

    read = CorrectionPlan.read(plan)
    current_workspace().trusted.require(read.code, plan)
    chosen = _seeds(seeds)
    kept = "Rounds that ended are kept, and no reply that was paid for is lost."
    with repeatable_command(f"the correction {read.name}", kept):
        fetch_missing_models("embedded" if read.base == "embedded" else "", read.score.judge)
        correction = Correction(read, to or read.name, device=choose_device(device))
        began, display = time.monotonic(), PhaseDisplay()
        seeds_text = plural(len(chosen or read.seeds), "seed")
        out.print_line(
            f"  correcting {read.base} in {read.scenario.name} on {correction.device}: {seeds_text}, "
            f"{plural(len(read.arms), 'arm')}, {plural(read.rounds, 'round')}; interrupt it at any time, and the same "
            "command goes on."
        )

        def watch(result: RoundResult) -> None:
            with display.hidden():
                out.print_line(
                    f"  {time.monotonic() - began:6.1f} s  seed {result.seed}  {result.arm:<8}  round {result.round}  "
                    f"score {_score_text(result.score)} ({result.score_count} decisions)  "
                    f"distance elsewhere {result.drift:.3f}  on options there {result.mass:.2f}"
                )
            if (result.arm, result.round) == (read.arms[-1], read.rounds):  # A seed is complete.
                correction_report(read, correction.results).write(correction.folder)

        with display:
            results = correction.run(watch, seeds=chosen, on_phase=display.show)
        table = results_table(results)
        files = correction_report(read, results).write(correction.folder)
        estimates = changes(read, table, "score")
        document = {name: {"value": e.value, "low": e.low, "high": e.high, "n": e.n} for name, e in estimates.items()}
        report_json({"folder": str(correction.folder), "report": str(files[0]), "changes": document})
        facts(
            [
                *((f"change, {name}", str(estimate)) for name, estimate in estimates.items()),
                ("report", str(files[0])),
                ("adapters", str(correction.folder / f"seed-*/*/round-*/{read.name}.gguf")),
            ]
        )


def _score_text(score: float) -> str:
    return "–" if math.isnan(score) else f"{score:.3f}"


def _seeds(text: str | None) -> list[int]:
    try:
        return [int(word) for word in text.split(",")] if text else []
    except ValueError:
        raise UsageError(f"--seeds takes numbers, not {text!r}.", "For instance: --seeds 1,2") from None
