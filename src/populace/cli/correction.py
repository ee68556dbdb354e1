"""The command `correct`: a model is corrected in rounds of simulation, scoring and training."""

from __future__ import annotations

import click

from populace.cli.options import command, current_workspace, option
from populace.cli.output import facts, out, report_json


@command("correct", code="needed")
@click.argument("plan", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.option("--to", metavar="FOLDER", help="Where everything is written.  [default: the name of the plan]")
@option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute.")
def correct_command(plan: str, to: str | None, device: str) -> None:
    from populace.training.base_network import choose_device
    from populace.training.correction import Correction, RoundResult
    from populace.training.correction_plan import CorrectionPlan
    from populace.training.correction_report import changes, correction_report, results_table

    read = CorrectionPlan.read(plan)
    current_workspace().trusted.require(read.code, plan)
    correction = Correction(read, to or read.name, device=choose_device(device))

    def watch(result: RoundResult) -> None:
        out.print_line(
            f"  seed {result.seed}  {result.arm:<8}  round {result.round}  score {result.score:.3f} "
            f"({result.score_count} decisions)  distance elsewhere {result.drift:.3f}"
        )

    results = correction.run(watch)
    table = results_table(results)
    files = correction_report(read, results).write(correction.folder)
    found = changes(read, table, "score")
    document = {name: {"value": e.value, "low": e.low, "high": e.high, "n": e.n} for name, e in found.items()}
    report_json({"folder": str(correction.folder), "report": str(files[0]), "changes": document})
    facts([*((f"change, {name}", str(estimate)) for name, estimate in found.items()), ("report", str(files[0]))])
