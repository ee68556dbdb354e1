"""Nominal against actual: how often intervals hold a known truth, and how often tests find what is not there.

Every cell simulates data sets whose truth is known and calls the functions that users call. A cell counts as warned
where a warning stands beside nearly all of its intervals. `python benchmarks/coverage.py` writes the table into
docs/concepts/statistics.md, each row as soon as it is there, `--part designs` only the rows of a part; the tests run a
part of it.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from coverage_arms import differences, looks, means, tests
from coverage_cells import SIZES, Cell
from coverage_groups import groups
from coverage_models import designs, regressions
from coverage_studies import crossed, studies

DOCS = Path(__file__).parents[1] / "docs" / "concepts" / "statistics.md"
BEGIN, END = "<!-- coverage begins -->", "<!-- coverage ends -->"


def _arms(sets: int) -> Iterator[Cell]:
    yield from means(sets, SIZES)
    yield from differences(sets, SIZES, ("t",))
    yield from differences(sets, SIZES, ("bootstrap-t", "permutation"))
    yield from differences(sets, (20, 40), ("bootstrap",))
    yield from tests(sets, SIZES)
    yield from looks(sets)


PARTS: dict[str, Callable[[int], Iterator[Cell]]] = {
    "arms": _arms,
    "studies": studies,
    "crossed": crossed,
    "groups": lambda sets: groups(sets, SIZES),
    "regressions": lambda sets: regressions(sets, SIZES),
    "designs": lambda sets: designs(sets, SIZES),
}


HEAD = """\
| procedure | data | n | data sets | nominal | actual | warned | without a warning |
|---|---|---|---|---|---|---|---|"""


def row(each: Cell) -> str:
    """A cell as a row of a Markdown table."""
    nominal = ".95" if each.kind == "coverage" else "size .05"
    without = "–" if each.unwarned is None else _short(each.unwarned)
    mark = "" if each.holds else " **!**"
    texts = (each.procedure, each.data, each.n, str(each.sets), nominal, _short(each.actual))
    return "| " + " | ".join((*texts, _short(each.warned), without + mark)) + " |"


def _short(x: float) -> str:
    return f"{x:.3f}".lstrip("0") if x < 1 else "1.000"


def write(rows: list[str], *, whole: bool) -> None:
    """Write rows into the table of the page, each in its place; a whole table leaves out rows that are not computed."""
    text = DOCS.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    known = text.split(BEGIN)[1].split(END)[0].strip().splitlines()[2:]
    table = {} if whole else {_name(line): line for line in known}
    table |= {_name(line): line for line in rows}
    DOCS.write_text(f"{before}{BEGIN}\n\n{chr(10).join([HEAD, *table.values()])}\n\n{END}{after}", encoding="utf-8")


def _name(line: str) -> tuple[str, ...]:
    """What a row is about: procedure, data and n."""
    return tuple(line.split(" | ")[:3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="data sets of each cell")
    parser.add_argument("--part", choices=list(PARTS), help="only the cells of this part")
    parser.add_argument("--check", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    cells = []
    for part in [options.part] if options.part else PARTS:
        for each in PARTS[part](options.sets):
            cells.append(each)
            print(row(each), flush=True)
            if not options.check:  # a row is kept as soon as it is computed
                write([row(each)], whole=False)
    failing = [each for each in cells if not each.holds]
    if not options.check and options.part is None:
        write([row(each) for each in cells], whole=True)
    print(f"{len(cells)} cells, {len(failing)} below their bar")
    raise SystemExit(bool(failing))


if __name__ == "__main__":
    main()
